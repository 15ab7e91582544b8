import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PROGRAM_FOLDERS } from '@bulkhead/kit/programs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { installedLayers, type NodeNeeds } from '../../src/os/installed-layers.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { trialOf } from '../../src/os/trial.ts'

const run = promisify(execFile)
const HOST = fileURLToPath(new URL('fixtures/keeping-host.ts', import.meta.url))
const { bubblewrap, launcher } = await detectOsLayers()
const hasWalls = bubblewrap.active || launcher.active

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-walled-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const file = () => join(folder, 'trials.json')
const NEEDS = '"needs"'
const kept = () => JSON.parse(readFileSync(file(), 'utf8')) as { readonly answers: { readonly [NEEDS]: NodeNeeds } }

const without = ({ answers }: ReturnType<typeof kept>): NodeNeeds => ({ ...answers[NEEDS], libraries: [] })

/** A process of its own: the layers are found once per process. */
async function host(): Promise<{ readonly isKept: boolean; readonly missing: readonly string[] }> {
  const { stdout } = await run(process.execPath, [HOST, folder])
  const { isKept, missing, ...rest } = JSON.parse(stdout) as Awaited<ReturnType<typeof host>>
  expect(rest).toEqual({ spare: 1, confirmed: true })
  return { isKept, missing }
}

describe('the walls around hulls', runsIf(hasWalls, 'no wall stands here'), () => {
  /** What the first host found. Trying all walls takes most of the time, so the tests share what it kept. */
  let first: Awaited<ReturnType<typeof host>>
  let tried: string
  beforeAll(async () => {
    folder = tried = mkdtempSync(join(tmpdir(), 'bulkhead-walled-'))
    first = await host()
  })
  afterAll(() => rmSync(tried, { recursive: true }))
  beforeEach(() => copyFileSync(join(tried, 'trials.json'), file()))

  it('are tried once until the system starts again', LONG, async () => {
    expect(first.isKept).toBe(false)
    expect(await host()).toEqual({ ...first, isKept: true })
  })

  it('are all tried again if one answer is stale', LONG, async () => {
    const before = kept()
    // Node does not start without its libraries, nor behind a wall that hides them.
    writeFileSync(file(), JSON.stringify({ ...before, answers: { ...before.answers, [NEEDS]: without(before) } }))
    expect(await host()).toEqual(first)
    expect(kept().answers[NEEDS].libraries).toEqual(before.answers[NEEDS].libraries)
  })

  it('are tried again if the first hull does not start behind them', {
    ...needs('bubblewrap'), tags: ['walls', 'long'],
  }, async () => {
    const before = kept()
    const wrong = without(before)
    const machine = { node: process.execPath, architecture: process.arch, folders: PROGRAM_FOLDERS }
    const layers = { ...withoutLayers('bubblewrap does more'), ...await installedLayers(machine, wrong) }
    const trial = JSON.stringify(trialOf(process.execPath, layers))
    writeFileSync(file(), JSON.stringify({ ...before, answers: { [NEEDS]: wrong, [trial]: null } }))
    expect(await host()).toEqual({ ...first, isKept: true })
    expect(kept().answers[NEEDS].libraries).toEqual(before.answers[NEEDS].libraries)
  })
})
