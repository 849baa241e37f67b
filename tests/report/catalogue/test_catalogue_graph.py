"""The catalogue's picture: the topics that virtual clusters see, as they are declared."""

from builders import Place, a_desired, a_topic
from msgspec.structs import replace

from kgitops.model.json.declared import DesiredLink, DesiredVirtualCluster
from kgitops.report.catalogue.content import catalogue_of

AT = Place("sales.yaml")


def test_a_topic_of_a_virtual_cluster_and_one_outside_are_drawn_where_links_lead_to_them() -> None:
    inside = replace(a_topic("events"), address="vc/sales/topic/events", virtual_cluster="sales")
    link = DesiredLink(
        address="vc/sales/link/all",
        virtual_cluster="sales",
        name="all",
        topic="orders",
        located=AT,
    )
    sales = DesiredVirtualCluster(address="vc/sales", name="sales", located=AT)
    found = catalogue_of(a_desired(a_topic("orders"), inside, link, sales), "local")
    assert found.graph is not None
    (tenant,) = found.graph.tenants
    drawn = {link.name: found.graph.topics[link.topic].name for link in tenant.links}
    assert drawn == {"all": "orders", "events": "events of sales"}
