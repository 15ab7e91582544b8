import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { withFileLock } from '@bulkhead/kit/file-lock'
import { expect, test } from 'vitest'
import { LayerFiles } from '../../src/install/layer-files.ts'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { HomeFixture } from '../home-fixture.ts'

test('a layer is changed by one process at a time', async () => {
  using home = new HomeFixture()
  const files = new LayerFiles(home.globalRoot, LOADER_LIMITS)
  const change = { id: 'weather', before: null, after: null }
  const installed = join(home.globalRoot, 'installed')
  mkdirSync(installed)
  await withFileLock(join(installed, '.busy'), async () => {
    await expect(files.apply(change, 0)).rejects.toMatchObject({ code: 'InstallBusy' })
  })
  expect(await files.apply(change, 0)).toMatch(/^[\w+/=-]+$/)
  expect(readdirSync(installed)).toEqual(['.busy'])
})
