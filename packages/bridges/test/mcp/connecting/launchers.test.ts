import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { launchers } from '../../../src/connected/process-group.ts'

it('launchers are looked up again if the first lookup had no file descriptors', LONG, async () => {
  const exhausted = join(import.meta.dirname, 'fixtures', 'exhausted-host.ts')
  const script = `ulimit -n 256; exec '${process.execPath}' --no-warnings '${exhausted}'`
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const here = await launchers()
  expect(JSON.parse(stdout)).toEqual({ exhausted: here.deathSignal.length > 0 ? 'EMFILE' : here, later: here })
})
