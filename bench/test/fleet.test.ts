import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../scripts/thoroughly.ts'
import { startFleet, layOutFleet, openFleet } from '../src/loads/fleet.ts'
import { hostSession, hostStart } from '../src/subjects/host-fleet.ts'

const peer = fileURLToPath(new URL('../src/peers/memory.ts', import.meta.url))
const SMALL = { loaded: 5, active: 2, sessions: 2 }

it('a fleet has the requested number of extensions and sessions', LONG, async () => {
  await using opened = new AsyncDisposableStack()
  const { workspace, remove } = await layOutFleet(SMALL.loaded)
  opened.defer(remove)
  const host = await openFleet(workspace)
  opened.defer(async () => void (await host.close()))
  const sessions = await startFleet(host, SMALL)
  expect(sessions).toHaveLength(2)
  const fleet = host.extensions().filter(({ layer }) => layer === 'project')
  expect(fleet.map(({ state }) => state).toSorted()).toEqual([
    'active', 'active', 'validated', 'validated', 'validated',
  ])
  await expect(startFleet(host, { ...SMALL, active: 1 })).rejects.toThrow('2 extensions are active instead of 1')
})

it('a separate process reports the memory of a fleet', ONLY_IN_SOAK, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [peer, 'host', JSON.stringify(SMALL)], {
    timeout: 540_000,
  })
  expect(Number(stdout)).toBeGreaterThan(30)
})

it('the subjects of the host use the full fleet', () => {
  expect([...hostSession.sides, ...hostStart.sides].map(({ name, answer }) => [name, answer(0)])).toEqual([
    ['host with what ships with it', 0], ['host with 1,000 loaded, 50 active, 20 sessions', 1_000],
    ['host that finds what ships with it', 0], ['host that finds 1,000', 1_000],
  ])
})
