import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Session } from 'bulkhead'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import { startFleet, FULL_FLEET, layOutFleet, NO_FLEET, openFleet, type FleetSize } from '../loads/fleet.ts'

const peer = fileURLToPath(new URL('../peers/memory.ts', import.meta.url))

/** Opens one more session in a host of the given size. Memory is that of a separate process. */
function openingSession<const Name extends string>(name: Name, size: FleetSize) {
  return {
    name,
    answer: () => size.loaded,
    start: async (): Promise<Runner> => {
      await using started = new AsyncDisposableStack()
      const { workspace, remove } = await layOutFleet(size.loaded)
      started.defer(remove)
      const host = await openFleet(workspace)
      started.defer(async () => void (await host.close()))
      await startFleet(host, size)
      let opened: Session | undefined
      const everything = started.move()
      return {
        run: async () => {
          opened = await host.openSession({ mode: 'ask' })
          return opened.tools().filter(({ name: tool }) => tool.startsWith('tool') && tool !== 'tool_search').length
        },
        between: async () => void (await opened?.close()),
        megabytes: async () => {
          const { stdout } = await promisify(execFile)(process.execPath, [peer, 'host', JSON.stringify(size)])
          return Number(stdout)
        },
        stop: () => everything.disposeAsync(),
      }
    },
  } as const satisfies Side<Name>
}

/** Opens and closes a host that loads the given number of extensions. */
function openingHost<const Name extends string>(name: Name, { loaded }: FleetSize) {
  return {
    name,
    answer: () => loaded,
    start: async (): Promise<Runner> => {
      const { workspace, remove } = await layOutFleet(loaded)
      let host: Awaited<ReturnType<typeof openFleet>> | undefined
      return {
        run: async () => {
          host = await openFleet(workspace)
          const offered = host.extensions().filter(({ availability }) => availability === 'offered')
          return offered.filter(({ layer }) => layer === 'project').length
        },
        between: async () => void (await host?.close()),
        stop: async () => {
          await host?.close()
          await remove()
        },
      }
    },
  } as const satisfies Side<Name>
}

export const hostSession = defineSubject({
  title: 'Opening a session and listing its tools',
  compares: 'A host with 1,000 loaded extensions, 50 of them active in threads, and 20 sessions, against an empty '
    + 'host.',
  sides: [
    openingSession('host with what ships with it', NO_FLEET),
    openingSession('host with 1,000 loaded, 50 active, 20 sessions', FULL_FLEET),
  ],
  modes: [{ kind: 'latency' }, { kind: 'memory' }],
  ratios: [],
  rounds: 4,
})

export const hostStart = defineSubject({
  title: 'Opening a host: extensions are found, verified and offered',
  compares: 'A project with 1,000 extensions against one without. No extension is started.',
  sides: [
    openingHost('host that finds what ships with it', NO_FLEET),
    openingHost('host that finds 1,000', FULL_FLEET),
  ],
  modes: [{ kind: 'latency' }],
  ratios: [],
  rounds: 4,
})
