"""Reads the blocks of Terraform's modules: resources, providers, calls and what else there is."""

from msgspec import Struct, field

from kgitops.conversion.objects import ConvertedCluster, SourceObject
from kgitops.conversion.reading.budget import TooMuchError
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.hcl.modules import Instance, Module
from kgitops.conversion.reading.hcl.nodes import block_value
from kgitops.conversion.reading.hcl.parsing import HclBlock
from kgitops.conversion.reading.hcl.scopes import Scope, Unknown
from kgitops.conversion.reading.keys import Fate, declared, find_key
from kgitops.conversion.reading.values import SourceFile, Value
from kgitops.conversion.tools.terraform.clusters import ClusterId, Providers
from kgitops.conversion.tools.terraform.keys import BLOCKS, MODULE, REMOVED, TABLES
from kgitops.conversion.tools.terraform.lifecycle import Lifecycle, read_lifecycle
from kgitops.conversion.tools.terraform.providers import provider_cluster, read_confluent
from kgitops.conversion.tools.terraform.resources import is_kafkas, resource_object
from kgitops.conversion.tools.terraform.state import Configuration, confluent_id, instance_key
from kgitops.model.source import Source

_NO_INSTANCES = "nothing: it has no instances"
_OVERRIDDEN = "write what the override file says into the block itself, or convert the state file"


class Found(Struct):
    """The findings of all modules: objects by their files, clusters, places of other resources."""

    objects: dict[str, list[SourceObject]] = field(default_factory=dict)
    clusters: dict[ClusterId, ConvertedCluster] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    blocks: set[int] = field(default_factory=set)
    unread: Source | None = None
    """The first block that takes more steps than are left: it and later ones are not read."""

    def is_new(self, block: HclBlock) -> bool:
        """True if the block, which every call of its module reads, is read for the first time."""
        new = id(block) not in self.blocks
        self.blocks.add(id(block))
        return new


class ModuleReading:
    """The blocks of one module, as one call of it has them."""

    def __init__(
        self,
        found: Found,
        module: Module,
        configuration: Configuration,
        providers: Providers,
        prefix: str,
    ) -> None:
        self._found = found
        self._module = module
        self._configuration = configuration
        self._providers = providers
        self._prefix = prefix

    def read(self) -> None:
        """Read each block by the table of blocks.

        Raises:
            TooMuchError: the steps of the conversion are spent at ``found.unread``.
        """
        self._note_moves()
        for file, block in self._module.overrides():
            if self._found.is_new(block) and block.type not in ("variable", "locals"):
                problem = "an override file changes it"
                self._add(file, self._builder(file, block).refuse(problem, _OVERRIDDEN))
        for file, block in self._module.blocks():
            try:
                self._block(file, block)
                self._module.spend(1)
            except TooMuchError:
                self._found.unread = self._found.unread or file.text.place(block.start)
                raise

    def _block(self, file: SourceFile, block: HclBlock) -> None:
        key = find_key(BLOCKS, block.type)
        if block.type == "resource":
            self._resource(file, block)
        elif block.type == "module":
            self._call(file, block)
        elif block.type == "provider":
            self._provider(file, block)
        elif block.type == "removed":
            self._removed(file, block)
        elif not self._found.is_new(block):
            return
        elif key is not None and key.fate is Fate.HARMLESS:
            self._harmless(file, block, key.why)
        else:
            problem = "kgitops does not know such a block" if key is None else key.why
            advice = "it is left out" if key is None else key.advice
            self._add(file, self._builder(file, block).refuse(problem, advice))

    def _add(self, file: SourceFile, item: SourceObject) -> None:
        self._found.objects[file.path].append(item)

    def _builder(
        self, file: SourceFile, block: HclBlock, scope: Scope | None = None
    ) -> ObjectBuilder:
        value = block_value(file, block, scope or self._module)
        return ObjectBuilder(block.type, ".".join(block.labels), value)

    def _ignore(self, file: SourceFile, block: HclBlock) -> None:
        if self._found.is_new(block):
            place = file.text.place(block.start)
            self._found.ignored.append(f"{place.file}:{place.line}")

    def _harmless(self, file: SourceFile, block: HclBlock, why: str) -> None:
        """A block that changes nothing by itself."""
        empty = HclBlock(block.type, block.labels, {}, (), block.start, block.end)
        builder = self._builder(file, empty)
        builder.becomes_settings(why)
        self._add(file, builder.build())

    def _note_moves(self) -> None:
        """Note the new addresses of what `moved` blocks rename in the state file."""
        for file, block in self._module.blocks():
            if block.type == "moved":
                value = block_value(file, block, self._module)
                start, end = (value.text_at(name) or "" for name in ("from", "to"))
                self._configuration.moved[f"{self._prefix}{start}"] = f"{self._prefix}{end}"

    def _removed(self, file: SourceFile, block: HclBlock) -> None:
        builder = self._builder(file, block)
        fields = builder.read(REMOVED)
        start = fields.text("from") or ""
        destroyed = fields.fields("lifecycle").flag("destroy")
        self._configuration.removed[f"{self._prefix}{start}"] = destroyed is not False
        if not self._found.is_new(block):
            return
        kind = (start.split(".")[-2:] or [""])[0]
        if destroyed is False or not (is_kafkas(kind) or kind == "module"):
            builder.becomes_settings("nothing: no object of Kafka is destroyed")
        else:
            builder.lose(
                builder.value,
                f"{builder}: Terraform destroys {start}, and kgitops does not",
                "apply it in Terraform first, or write a Tombstone",
            )
        self._add(file, builder.build([]))

    def _provider(self, file: SourceFile, block: HclBlock) -> None:
        instances = self._module.instances(file, block)
        known = instances if isinstance(instances, list) else [Instance(file, block, self._module)]
        for instance in known:
            cluster_id = self._providers.of_block(instance, self._module)
            if cluster_id is None:
                self._ignore(file, block)
                return
            builder = self._builder(file, block, instance.scope)
            if self._module.is_overridden(block):
                self._add(file, builder.refuse("an override file changes it", _OVERRIDDEN))
                continue
            if cluster_id.kind == "kafka":
                cluster = provider_cluster(builder)
                if cluster is not None:
                    self._found.clusters.setdefault(cluster_id, cluster)
            else:
                read_confluent(builder)
            if self._found.is_new(block) or instance.key is not None:
                self._add(file, builder.build([]))
        if not known:
            self._harmless(file, block, _NO_INSTANCES)

    def _call(self, file: SourceFile, block: HclBlock) -> None:
        address = f"{self._prefix}module.{'.'.join(block.labels)}"
        empty = HclBlock(block.type, block.labels, {}, (), block.start, block.end)
        builder = ObjectBuilder("module", address, block_value(file, empty, self._module))
        instances = self._module.instances(file, block)
        if isinstance(instances, Unknown):
            self._configuration.unknown.add(address)
            self._add(file, _unknown(builder, instances))
            return
        if self._module.is_overridden(block):
            self._configuration.unknown.add(address)
            self._add(file, builder.refuse("an override file changes it", _OVERRIDDEN))
            return
        for instance in instances:
            inner = self._module.called(instance)
            if inner is None:
                builder.lose(
                    builder.value,
                    f"{builder} is not among the files, or calls itself",
                    "convert it together with its caller, or the state file",
                )
                self._configuration.unknown.add(address)
                break
            self._report_arguments(builder, file, block, inner)
            ModuleReading(
                self._found,
                inner,
                self._configuration,
                self._providers.inside(instance, inner),
                f"{address}{_key(instance)}.",
            ).read()
        builder.becomes_settings("the resources of the module" if instances else _NO_INSTANCES)
        self._add(file, builder.build())

    def _report_arguments(
        self, builder: ObjectBuilder, file: SourceFile, block: HclBlock, inner: Module
    ) -> None:
        """Report what the call has and the module does not take; once for all calls."""
        if not self._found.is_new(block):
            return
        variables = {
            other.labels[0]: declared()
            for _, other in inner.blocks()
            if other.type == "variable" and other.labels
        }
        fields = builder.read({**variables, **MODULE}, block_value(file, block, self._module))
        fields.fields("lifecycle").take("enabled")
        for name in variables:
            fields.take(name)
        for name in ("source", "providers", "count", "for_each"):
            fields.take(name)  # `Module` and `Providers` have read them

    def _resource(self, file: SourceFile, block: HclBlock) -> None:
        if len(block.labels) != 2:
            problem = "a resource has a type and a name"
            self._add(file, self._builder(file, block).refuse(problem, "correct it there"))
            return
        kind, *names = block.labels
        if not is_kafkas(kind):
            self._ignore(file, block)
            return
        instances = self._module.instances(file, block)
        name = f"{self._prefix}{'.'.join(names)}"
        address = f"{self._prefix}{'.'.join(block.labels)}"
        overridden = self._module.is_overridden(block)
        if isinstance(instances, Unknown) or overridden:
            builder = ObjectBuilder(kind, name, block_value(file, block, self._module))
            self._configuration.unknown.add(address)
            lost = (
                _unknown(builder, instances)
                if isinstance(instances, Unknown)
                else builder.refuse("an override file changes it", _OVERRIDDEN)
            )
            self._add(file, lost)
            return
        for instance in instances:
            self._module.spend(1)
            value = block_value(file, block, instance.scope)
            builder = ObjectBuilder(kind, f"{name}{_key(instance)}", value)
            quiet = ObjectBuilder(kind, name, value)
            lifecycle = read_lifecycle(quiet) if kind in TABLES else Lifecycle()
            self._configuration.add(f"{address}{_key(instance)}", lifecycle)
            self._add(file, resource_object(builder, (str(self._cluster(block, instance, value)),)))
        if not instances:
            self._harmless(file, block, _NO_INSTANCES)

    def _cluster(self, block: HclBlock, instance: Instance, value: Value) -> ClusterId:
        named = confluent_id(value) if block.labels[0].startswith("confluent_") else ""
        if named:
            return self._providers.of_id(named)
        asked = block.attributes.get("provider")
        return self._providers.of_resource(block.labels[0], asked, instance.scope)


def _key(instance: Instance) -> str:
    return "" if instance.key is None else instance_key(instance.key)


def _unknown(builder: ObjectBuilder, unknown: Unknown) -> SourceObject:
    return builder.refuse(
        f"it has one instance for each of {unknown.text}, which is not known here",
        "give the values with --var-file or TF_VAR_NAME, or convert the state file",
    )
