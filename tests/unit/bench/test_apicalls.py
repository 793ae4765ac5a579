from collections import Counter

from bench import apicalls
from bench.apicalls import Call

METRICS = """\
# HELP apiserver_request_total [STABLE] Counter of requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",group="apps",resource="deployments",subresource="",verb="POST"} 7
apiserver_request_total{code="409",group="apps",resource="deployments",subresource="",verb="POST"} 2
apiserver_request_total{code="200",resource="vecodexsets",subresource="status",verb="PUT"} 1e+06
apiserver_request_terminations_total{code="504",resource="deployments",subresource="",verb="POST"} 3
"""


def test_answers_of_all_codes_count_and_other_metrics_do_not() -> None:
    calls = apicalls.parsed(METRICS)
    assert calls[Call("POST", "deployments", "")] == 9
    assert calls[Call("PUT", "vecodexsets", "status")] == 1_000_000
    assert len(calls) == 2


def test_what_the_server_does_for_itself_is_left_out() -> None:
    own = {
        Call("PUT", "leases", ""): 30,
        Call("POST", "ipaddresses", ""): 300,
        Call("GET", "namespaces", ""): 4,
        Call("GET", "", "openapi/v3"): 3,
    }
    assert apicalls.between(Counter(), Counter(own)) == Counter()


def test_discovery_is_a_read() -> None:
    calls = apicalls.between(Counter(), Counter({Call("GET", "", "/apis"): 1}))
    assert apicalls.reads(calls) == 1


def test_only_what_was_called_meanwhile_counts() -> None:
    deployments = Call("POST", "deployments", "")
    before, after = Counter({deployments: 5}), Counter({deployments: 8})
    assert apicalls.writes(apicalls.between(before, after)) == 3


def test_events_are_counted_apart_from_writes_and_watches_are_neither() -> None:
    calls = Counter(
        {
            Call("POST", "events", ""): 1,
            Call("APPLY", "services", ""): 2,
            Call("LIST", "services", ""): 4,
            Call("WATCH", "services", ""): 8,
        }
    )
    assert apicalls.events(calls) == 1
    assert apicalls.writes(calls) == 2
    assert apicalls.reads(calls) == 4
    assert [str(call) for call, _ in apicalls.ordered(calls)] == [
        "LIST services",
        "POST events",
        "APPLY services",
    ]
