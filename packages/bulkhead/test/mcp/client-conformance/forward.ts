/** The command that the suite runs for each scenario. It forwards the scenario to the test, which has the hosts. */
const { CONFORMANCE_DRIVER, MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env
const response = await fetch(CONFORMANCE_DRIVER!, {
  method: 'POST', body: JSON.stringify({ scenario, context: JSON.parse(context) as unknown, url: process.argv.at(-1) }),
})
process.stdout.write(await response.text())
process.exitCode = response.ok ? 0 : 1
