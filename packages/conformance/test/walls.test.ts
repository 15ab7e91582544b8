import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'

const WALLS_SCRIPT = resolve(import.meta.dirname, '../../../scripts/walls.mjs')
let programs: string
beforeAll(() => { programs = mkdtempSync(join(tmpdir(), 'bulkhead-programs-')) })
afterAll(() => rmSync(programs, { recursive: true }))

/** The script that runs the tests of walls without bubblewrap, on a machine with these programs. */
function runWith(...names: readonly string[]): readonly [status: number | null, stdout: string] {
  for (const name of names) symlinkSync(join('/usr/bin', name), join(programs, name))
  const { status, stdout } = spawnSync(process.execPath, [WALLS_SCRIPT], { env: { PATH: programs }, encoding: 'utf8' })
  return [status, stdout]
}

it('nothing is proven, and that is a failure, where bubblewrap does not work', () => {
  expect(runWith()).toEqual([
    1, expect.stringMatching(/Not run: bubblewrap does not work here[^]*\n0 passed, 1 failed\n$/),
  ])
})

it('nothing is proven, and that is a failure, where bubblewrap cannot be hidden', needs('bubblewrap'), () => {
  expect(runWith('bwrap', 'true')).toEqual([
    1, expect.stringMatching(/Not run: this user may not hide[^]*\n0 passed, 1 failed\n$/),
  ])
})
