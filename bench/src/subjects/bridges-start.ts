import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHost, type Host } from 'bulkhead'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'

const SERVER = fileURLToPath(new URL('../peers/read.ts', import.meta.url))
/** The server and its packages. */
const SOURCES = fileURLToPath(new URL('../../..', import.meta.url))

/** From the start of a local server to its list of tools. */
function starting<const Name extends string>(name: Name, jail: boolean) {
  return {
    name,
    answer: () => 'connected',
    start: async (): Promise<Runner> => {
      const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
      await mkdir(join(folder, 'workspace'))
      const server = {
        type: 'local' as const, command: [process.execPath, SERVER], jail,
        requires: { fs: { read: ['{workspace}', SOURCES] } },
      }
      const open = (): Promise<Host> => createHost({
        workspace: join(folder, 'workspace'), home: join(folder, 'home'), discover: 'when-asked',
        config: { mcp: { server } },
      })
      let host = await open()
      return {
        run: async () => (await host.mcp.connect())[0]?.state,
        between: async () => {
          await host.close()
          host = await open()
        },
        stop: async () => {
          await host.close()
          await rm(folder, { recursive: true, force: true })
        },
      }
    },
  } as const satisfies Side<Name>
}

export const bridgesStart = defineSubject({
  title: 'Starting a local MCP server',
  compares: 'A server of the official SDK in its jail, in a host that has started one before, against the same server '
    + 'without a jail.',
  sides: [starting('without a jail', false), starting('in a jail', true)],
  modes: [{ kind: 'latency' }],
  ratios: [{ side: 'in a jail', measure: 'p50', against: 'without a jail', is: '≤', ratio: 1.2 }],
  rounds: 12,
})
