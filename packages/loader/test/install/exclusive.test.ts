import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { claimExclusively } from '../../src/install/layer-files.ts'
import { HomeFixture } from '../home-fixture.ts'

const source = fileURLToPath(new URL('../../src/install/layer-files.ts', import.meta.url))

test('is held against others until it is given back', () => {
  using home = new HomeFixture()
  const path = join(home.globalRoot, 'installed', '.busy')
  const release = claimExclusively(path)
  expect(() => claimExclusively(path, 0)).toThrow(expect.objectContaining({ code: 'InstallBusy' }))
  release()
  claimExclusively(path, 0)()
  expect(readdirSync(join(home.globalRoot, 'installed'))).toEqual(['.busy'])
})

test('needs no space: with a full disk, a user may want to uninstall something', () => {
  using home = new HomeFixture()
  const code = `const { claimExclusively } = await import(process.argv[1]); claimExclusively(process.argv[2])(); console.log('held')`
  // Not a byte may be written to any file.
  const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', code, source, join(home.globalRoot, 'installed', '.busy')], { encoding: 'utf8' })
  expect([stdout, stderr]).toEqual(['held\n', ''])
})
