// @module-tag long
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { runsIf } from '../../../scripts/skips.ts'
import { BUNDLED } from './bundled.ts'
import { writeExtension } from './extension-folder.ts'

const HAS_PROC = runsIf(process.platform === 'linux', 'needs /proc')

it('a host starts no process before a third-party call', HAS_PROC, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-started-'))
  const [home, workspace] = [join(folder, 'home'), join(folder, 'work')]
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'notes.md'), 'one two\n')
  writeExtension(
    home, { id: 'word', tools: [{ name: 'word_count', inputSchema: { type: 'object' } }] },
    'export default { tools: { word_count: { execute: () => 1 } } }',
  )
  const script = join(import.meta.dirname, 'fixtures/started-processes.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [...BUNDLED, script, home, workspace])
  expect(JSON.parse(stdout)).toEqual({ 'open': 0, 'bundled': 0, 'explained': 0, 'third-party': 1 })
  rmSync(folder, { recursive: true })
})
