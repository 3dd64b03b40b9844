def test_answers(dlbench):
    result = dlbench.measure("programs/answers.py", environment="requirements.txt", steps=600, requests=32)
    result.require(accuracy=0.9)
