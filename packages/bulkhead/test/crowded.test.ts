import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { BUNDLED } from './bundled.ts'
import { CACHE } from './cache.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-crowded-')) })
afterEach(() => rmSync(folder, { recursive: true }))

it('a start that fails for lack of file descriptors is not blamed on the extension', LONG, async () => {
  const fixture = join(import.meta.dirname, 'fixtures/crowded-host.ts')
  const { stdout } = await promisify(execFile)('/bin/sh', [
    '-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, ...BUNDLED, fixture, folder, CACHE,
  ])
  expect(JSON.parse(stdout)).toEqual(['NoPlaceFree', 'output'])
})
