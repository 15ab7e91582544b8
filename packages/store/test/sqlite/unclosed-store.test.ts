import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { StoreFolder } from './store-folder.ts'

const FORGETS = fileURLToPath(new URL('./fixtures/forgotten-store.ts', import.meta.url))

it('an unclosed store that is garbage-collected does not end the process', LONG, async () => {
  await using folder = new StoreFolder()
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', '--no-warnings', FORGETS, folder.file])
  expect(stdout).toBe('alive')
})
