import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { toolRequest } from '../../../../test/tool-request.ts'

/** Some commands wait for input that never comes. */
const HANGS_MS = 5_000

/** The tool `bash` behind the walls of this machine. */
export async function walledBash(workspace: string) {
  const env = { HOME: '/dev/null', LANG: 'C.UTF-8' }
  const sandbox = createSandbox({
    workspace, operator: { path: ['/usr/local/bin', '/usr/bin', '/bin'], env }, spares: { process: 0, thread: 0 },
  })
  const session = await sandbox.open(toolRequest('bash', { workspace: [workspace] }))
  let calls = 0
  const bash = async (command: string): Promise<JsonObject> => await session.call({
    callId: `c${++calls}`, tool: 'bash', args: { command, timeout_ms: HANGS_MS }, signal: new AbortController().signal,
  }) as JsonObject
  return { bash, close: () => sandbox.close() }
}
