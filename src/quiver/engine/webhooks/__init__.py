"""Admission webhooks for what CEL cannot say, with certificates of their own.

A controller that overrides `validate` or `default` is asked at `/validate/<plural>.<group>` or
`/mutate/<plural>.<group>`; nothing else has to be declared. The parts:

| file                | what it does                                                          |
|---------------------|-----------------------------------------------------------------------|
| `endpoints.py`      | which controllers are asked, and where (pure)                         |
| `review.py`         | from a review's bytes to the answer's (pure)                          |
| `json_patch.py`     | the patch between two documents (pure)                                |
| `answering.py`      | one endpoint over HTTP, counted                                       |
| `server.py`         | HTTPS; changes its certificate while it runs                          |
| `certificates.py`   | making and judging certificates                                       |
| `rotation.py`       | the steps from one certificate to the next (pure)                     |
| `shared_keyring.py` | the Secret that all replicas share                                    |
| `configurations.py` | the webhook configurations (pure)                                     |
| `registration.py`   | keeps them in the cluster                                             |
| `serving.py`        | `Webhooks`: all of it, as the manager runs it                         |
| `absent.py`         | `NoWebhooks`: takes away what an earlier start registered             |
"""
