import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from '../command-inside.ts'
import { BLOCKS, placeOf, ROOT, type Block } from './blocks.ts'
import { argumentsOf } from './shell-words.ts'

const TUTORIALS = globSync('docs/tutorials/*.md', { cwd: ROOT }).toSorted()

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-tutorial-'))
  mkdirSync(join(folder, 'node_modules/@bulkhead'), { recursive: true })
  for (const [name, target] of [
    ['bulkhead', 'packages/bulkhead'], ['@bulkhead/bridges', 'packages/bridges'],
    ['@modelcontextprotocol', 'packages/bulkhead/node_modules/@modelcontextprotocol'], ['.bin', 'node_modules/.bin'],
  ] as const) symlinkSync(join(ROOT, target), join(folder, 'node_modules', name))
})
afterEach(() => rmSync(folder, { recursive: true }))

function save(name: string, text: string): void {
  const file = join(folder, name.replace(/^~/, 'home'))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Runs a command, answering "n" to every question. `install` gets `--yes`. */
async function run(line: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const command = line.replace(/^npx /, '') + (/\bbulkhead install\b/.test(line) ? ' --yes' : '')
  const env = {
    NO_COLOR: '1', HOME: join(folder, 'home'), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    PATH: `${join(folder, 'node_modules/.bin')}:${dirname(process.execPath)}:/usr/bin:/bin`,
  }
  const args = argumentsOf(command)
  if (args !== undefined) {
    const { code, stdout, stderr } = await inside(args, folder, env)
    return { code, output: stdout + stderr }
  }
  const child = spawn('/bin/sh', ['-c', command], { cwd: folder, env, stdio: 'pipe' })
  child.stdin.end('n\n')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { output += text })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

/** A pattern from an expected output, in which "…" matches anything. */
const pattern = (text: string): RegExp =>
  new RegExp(`^${text.trimEnd().split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[\\s\\S]*')}`)

const commandsOf = ({ text }: Block): readonly string[] => text.trim().split('\n').map((line) => line.replace(/\s+# .*$/, ''))

it.each(TUTORIALS)('%s works step by step', async (page) => {
  const blocks = BLOCKS.filter((block) => block.page === page)
  for (const [index, block] of blocks.entries()) {
    if (block.file !== undefined) save(block.file, block.text)
    if (block.language !== 'sh') continue
    const next = blocks[index + 1]
    const expected = next?.language === 'text' && next.file === undefined ? next.text : undefined
    for (const line of commandsOf(block).filter((command) => !command.startsWith('npm install'))) {
      const { code, output } = await run(line)
      if (expected === undefined) expect({ place: placeOf(block), line, code, output }).toMatchObject({ code: /\bexplain\b/.test(line) ? expect.toBeOneOf([0, 1]) : 0 })
      else if (line === commandsOf(block).at(-1)) expect(output).toMatch(pattern(expected))
    }
  }
})
