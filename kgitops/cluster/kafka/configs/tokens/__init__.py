"""The tokens of OAUTHBEARER: from an OpenID provider, Amazon's signer or a function of others."""
