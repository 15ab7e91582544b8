import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createHost, defineTool, openSqliteStore } from '../../src/index.ts'

/**
 * A host that makes the calls it reads: one JSON line each, `{ id, name, arguments, revoke }`. It prints one JSON line
 * for each question, each attempt of a tool, and each outcome. `release` lets the calls of "waits" end.
 */
const [folder = '', cache = ''] = process.argv.slice(2)
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
const home = join(folder, 'home/.bulkhead')
const store = await openSqliteStore({ file: join(home, 'bulkhead.db') })
const host = await createHost({
  workspace: folder, home, cache, store, trust: 'declined', env: {},
  config: { approvals: { project: true }, retries: { backoffBase: 0, jitterMs: 0 } },
})

const released: (() => void)[] = []
const until = (): Promise<void> => new Promise((resolve) => { released.push(resolve) })
const input = { type: 'object', properties: {} } as const
await host.register([
  defineTool({
    name: 'inner', description: 'Runs.', input, requires: {}, gated: false, mode: 'read',
    execute: () => { print({ ran: 'inner' }) },
  }),
  defineTool({
    name: 'waits', description: 'Waits.', input, requires: {}, gated: false, mode: 'read', effects: 'none',
    async execute() {
      print({ ran: 'waits' })
      await until()
    },
  }),
  defineTool({
    name: 'outer', description: 'Calls another tool after it was released.', input, gated: false, mode: 'read',
    requires: { capabilities: ['tools.call'] },
    async execute(_, runtime) {
      print({ ran: 'outer' })
      await until()
      const outcome = await runtime.tools.call('inner', {})
      return outcome.type === 'output' ? 'ran' : outcome.error.code
    },
  }),
  defineTool({
    name: 'busy', description: 'Is busy after it was released.', input, requires: {}, gated: false, mode: 'read',
    effects: 'idempotent',
    async execute() {
      print({ ran: 'busy' })
      await until()
      throw Object.assign(new Error('try again'), { code: 'ResourceBusy' })
    },
  }),
])
const session = await host.openSession({
  mode: 'ask',
  approver: {
    approve: async ({ approvalKey }) => {
      print({ asked: approvalKey })
      return { decision: 'project' }
    },
  },
})
print({ ready: (await host.hosts()).length })

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'release') {
    for (const resolve of released.splice(0)) resolve()
  } else if (line === 'revoke') {
    print({ revoked: (await host.approvals.revoke({})).length })
  } else if (line === 'flush') {
    await host.flush()
    print({ flushed: true })
  } else {
    const call = JSON.parse(line) as { readonly id: string; readonly name: string; readonly arguments: object }
    void session.call(call as never).then((outcome) => print({
      id: call.id, verdict: outcome.type === 'output' ? outcome.data : outcome.error.code,
      ...(outcome.type === 'error' && { text: outcome.error_text }),
    }))
  }
}
await host.close()
