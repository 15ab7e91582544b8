import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { claimExclusively } from '../../src/install/layer-files.ts'
import { HomeFixture } from '../home-fixture.ts'

const source = fileURLToPath(new URL('../../src/install/layer-files.ts', import.meta.url))

test('excludes others until it is released', () => {
  using home = new HomeFixture()
  const path = join(home.globalRoot, 'installed', '.busy')
  const release = claimExclusively(path)
  expect(() => claimExclusively(path, 0)).toThrow(expect.objectContaining({ code: 'InstallBusy' }))
  release()
  claimExclusively(path, 0)()
  expect(readdirSync(join(home.globalRoot, 'installed'))).toEqual(['.busy'])
})

test('writes nothing, so that uninstalling works on a full disk', () => {
  using home = new HomeFixture()
  const code = 'const { claimExclusively } = await import(process.argv[1]); '
    + "claimExclusively(process.argv[2])(); console.log('held')"
  // No write to any file is allowed.
  const { stdout, stderr } = spawnSync(
    'sh',
    [
      '-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', code, source,
      join(home.globalRoot, 'installed', '.busy'),
    ],
    { encoding: 'utf8' },
  )
  expect([stdout, stderr]).toEqual(['held\n', ''])
})
