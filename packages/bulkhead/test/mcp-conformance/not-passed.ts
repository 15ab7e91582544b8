/**
 * Checks that do not pass, with a part of the response that they report: it is one of ours, of a tool that exists.
 * docs/guides/mcp.md gives the reasons.
 */
export const NOT_PASSED: ReadonlyMap<string, string> = new Map([
  // Tools cannot use the model of a client, nor ask for its roots. They can ask a person.
  ['2025-11-25/tools-call-sampling tools-call-sampling', '"code":"InteractionUnavailable"'],
  ['2026-07-28/input-required-result-basic-list-roots sep-2322-list-roots-incomplete', '"method":"elicitation/create"'],
  ['2026-07-28/input-required-result-basic-sampling sep-2322-sampling-incomplete', '"method":"elicitation/create"'],
  [
    '2026-07-28/input-required-result-multiple-input-requests sep-2322-multiple-inputs-incomplete',
    '"method":"elicitation/create"',
  ],
  [
    '2026-07-28/input-required-result-capability-check sep-2322-respect-client-capabilities',
    'this MCP client cannot ask a person',
  ],
  [
    '2026-07-28/server-stateless sep-2575-server-rejects-undeclared-capability',
    '"requiredCapabilities":{"elicitation":{"form":{}}}',
  ],

  // Not scored: no tool needs tasks, and what a tool throws is a result.
  [
    '2026-07-28/tasks-required-task-error sep-2663-server-returns-missing-capability-when-required',
    'failing_job returned a successful response',
  ],
  ['2026-07-28/tasks-lifecycle sep-2663-tasks-get-status-failed', 'MUST surface as failed (not \\"completed\\")'],
])
