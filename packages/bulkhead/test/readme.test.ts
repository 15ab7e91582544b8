import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { COMMANDS } from '../src/cli/main.ts'
import { inside } from './command-inside.ts'
import { runProgram } from './program-inside.ts'

const ROOT = join(import.meta.dirname, '../../..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const project = mkdtempSync(join(tmpdir(), 'bulkhead-readme-'))
afterAll(() => rmSync(project, { recursive: true }))

/** The code blocks of the README, by language and file name. */
const block = (info: string): string => {
  const found = new RegExp('^```' + info.replace('.', '\\.') + '\\n([\\s\\S]*?)^```', 'm').exec(README)
  if (!found) throw new Error(`The README has no block "${info}".`)
  return found[1]!
}

it('the examples of the README print what the README shows', async () => {
  const extension = join(project, 'word-count')
  mkdirSync(extension, { recursive: true })
  mkdirSync(join(project, 'node_modules/@bulkhead'), { recursive: true })
  symlinkSync(join(ROOT, 'packages/bulkhead'), join(project, 'node_modules/bulkhead'))
  symlinkSync(join(ROOT, 'packages/contract'), join(project, 'node_modules/@bulkhead/contract'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'notes.md'), 'one two three four\n')
  writeFileSync(join(extension, 'package.json'), '{ "name": "word-count", "version": "1.0.0", "type": "module" }')
  writeFileSync(join(extension, 'index.ts'), block('ts index.ts'))
  writeFileSync(join(project, 'agent.ts'), block('ts agent.ts'))

  // Without a spare, which would be a further process.
  mkdirSync(join(project, 'home/.bulkhead'), { recursive: true })
  writeFileSync(join(project, 'home/.bulkhead/config.json'), '{ "sandbox": { "spares": { "process": 0 } } }')
  expect(await inside(['install', './word-count', '--yes'], project)).toMatchObject({ code: 0 })
  const ran = await runProgram({ file: 'agent.ts', cwd: project, env: { HOME: join(project, 'home') } })
  expect(ran).toEqual({ code: 0, stdout: block('text'), stderr: '' })
})

it('each example has at most 20 lines', () => {
  for (const info of ['ts index.ts', 'ts agent.ts']) {
    expect(block(info).trimEnd().split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(20)
  }
})

it('the README has at most 150 lines', () => {
  expect(README.trimEnd().split('\n').length).toBeLessThanOrEqual(150)
})

it('every command is in the table of the package README', () => {
  const table = readFileSync(join(ROOT, 'packages/bulkhead/README.md'), 'utf8')
  for (const name of COMMANDS.keys()) expect(table).toMatch(new RegExp(`^\\| .*\`(?:bulkhead )?${name}\\b.*\\|`, 'm'))
})
