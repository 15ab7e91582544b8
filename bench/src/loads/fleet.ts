import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, type Host, type Session } from 'bulkhead'

export interface FleetSize {
  readonly loaded: number
  readonly active: number
  readonly sessions: number
}

/** The size that a host must support. */
export const FULL_FLEET: FleetSize = { loaded: 1_000, active: 50, sessions: 20 }
export const NO_FLEET: FleetSize = { loaded: 0, active: 0, sessions: 0 }

/** A project with `loaded` extensions, each with one tool. */
export async function layOutFleet(loaded: number): Promise<{ readonly workspace: string; remove(): Promise<void> }> {
  const workspace = await mkdtemp(join(tmpdir(), 'bulkhead-fleet-'))
  await Promise.all(Array.from({ length: loaded }, async (_, index) => {
    const folder = join(workspace, '.bulkhead', 'tools', nameOf(index))
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'bulkhead.json'), JSON.stringify(manifestOf(index)))
    const tools = `{ ${nameOf(index)}: { execute: ({ n }) => n + ${index} } }`
    await writeFile(join(folder, 'index.js'), `export default { tools: ${tools} }\n`)
  }))
  return { workspace, remove: () => rm(workspace, { recursive: true, force: true }) }
}

/** Uses threads, so that one process contains everything. */
export const openFleet = (workspace: string): Promise<Host> =>
  createHost({ workspace, home: join(workspace, 'home'), trust: 'once', config: { isolation: { project: 'thread' } } })

/** Opens `sessions` sessions, and starts `active` extensions with one call each. */
export async function startFleet(host: Host, { active, sessions }: FleetSize): Promise<readonly Session[]> {
  const opened = await Promise.all(Array.from({ length: sessions }, () => host.openSession({ mode: 'yolo' })))
  for (let index = 0; index < active; index++) {
    const outcome = await opened[index % sessions]!.call({ id: `c${index}`, name: nameOf(index), arguments: { n: 1 } })
    if (outcome.type === 'error' || outcome.data !== index + 1) {
      throw new Error(`${nameOf(index)} answered ${JSON.stringify(outcome)}`)
    }
  }
  const running = host.extensions().filter(({ state }) => state === 'active').length
  if (running !== active) throw new Error(`${running} extensions are active instead of ${active}.`)
  return opened
}

const nameOf = (index: number): string => `tool${index}`

const manifestOf = (index: number) => ({
  kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0',
  id: nameOf(index), version: '1.0.0', main: './index.js',
  tools: [{
    name: nameOf(index),
    description: `Adds ${index} to a number.`,
    inputSchema: {
      type: 'object', properties: { n: { type: 'number', minimum: -index } },
      required: ['n'], additionalProperties: false,
    },
    gated: false, mode: 'read',
  }],
})
