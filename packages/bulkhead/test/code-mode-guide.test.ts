import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'

it('the program of the guide runs', LONG, async () => {
  const guide = readFileSync(new URL('../../../docs/guides/code-mode.md', import.meta.url), 'utf8')
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-code-mode-guide-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const work = join(folder, 'work')
  mkdirSync(work)
  writeFileSync(join(work, 'a.md'), 'one two three\n')
  const program = /```ts program\.ts\n([^]*?)```/.exec(guide)![1]!
    .replace("'bulkhead'", JSON.stringify(new URL('../src/index.ts', import.meta.url).href))
    .replace('process.cwd()', [
      JSON.stringify(work), `home: ${JSON.stringify(join(folder, 'none'))}`,
      `config: { mode: 'yolo', sandbox: { spares: { process: 0 } } }`,
    ].join(', '))
  writeFileSync(join(folder, 'program.ts'), program)
  const { tool, explained, outcome } = await import(pathToFileURL(join(folder, 'program.ts')).href) as {
    tool: ToolDefinition; explained: { program: readonly { tool: string }[] }; outcome: Outcome
  }
  expect(tool.name).toBe('code_mode')
  expect(explained.program.map((each) => each.tool)).toEqual(['glob', 'read'])
  expect(outcome).toMatchObject({ type: 'output', data: { value: { 'a.md': 3 } } })
})
