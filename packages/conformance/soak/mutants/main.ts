/**
 * Removes one limit or promise after the other from a copy of the sources, and runs the test that must fail then.
 * Fails if more than one in twenty survives. `--only TEXT` runs those whose name contains the text.
 */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { MUTANTS } from './list.ts'
import { applied, type Mutant } from './mutant.ts'

const ROOT = join(import.meta.dirname, '../../../..')
/** How many of the mutants a test must notice. */
const KILLED = 0.95
const SIDE_BY_SIDE = 2
/** A mutant without its limit may loop for ever. It has survived then. */
const HANGS_MS = 600_000

const { only } = parseArgs({ options: { only: { type: 'string', default: '' } } }).values
const waiting = MUTANTS.filter(({ what }) => what.includes(only))
const survivors: string[] = []
const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** The files that git knows, with the dependencies of the original. Imports of the workspace lead to the copy. */
function copyWorkspace(): string {
  const copy = mkdtempSync(join(tmpdir(), 'bulkhead-mutants-'))
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  for (const file of files.toString().split('\0').filter(Boolean)) cpSync(join(ROOT, file), join(copy, file))
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  for (const links of globSync('{packages/*,apps/*,bench}/node_modules', { cwd: ROOT })) {
    cpSync(join(ROOT, links), join(copy, links), { recursive: true, verbatimSymlinks: true })
  }
  return copy
}

const packageOf = (file: string): string => file.split('/').slice(0, file.startsWith('bench/') ? 1 : 2).join('/')

type Tried = Pick<Mutant, 'test' | 'inSoak'>

const unchanged = new Map<string, Promise<string>>()

/** The output of a test that fails without any change, otherwise nothing. */
const faultOf = (copy: string, tried: Tried): Promise<string> => unchanged.getOrInsertComputed(tried.test, async () => {
  const { code, output } = await runTest(copy, tried)
  return code === 0 ? '' : output.slice(-2_000)
})

/** The exit code of vitest, and what it printed. */
async function runTest(
  copy: string, { test, inSoak }: Tried,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const folder = packageOf(test)
  const vitest = spawn(
    join(ROOT, 'node_modules/.bin/vitest'),
    [
      'run', '--config', '../../vitest.shared.ts', '--mode', inSoak ? 'soak' : 'long', '--retry', '0', '--bail', '1',
      test.slice(folder.length + 1),
    ],
    { cwd: join(copy, folder), stdio: ['ignore', 'pipe', 'pipe'], timeout: HANGS_MS, killSignal: 'SIGKILL' },
  )
  let output = ''
  for (const stream of [vitest.stdout, vitest.stderr]) stream.on('data', (chunk: Buffer) => { output += String(chunk) })
  return new Promise((resolve) => vitest.once('close', (code) => resolve({ code, output })))
}

async function tryMutant(mutant: Mutant, copy: string): Promise<void> {
  const fault = await faultOf(copy, mutant)
  if (fault !== '') {
    survivors.push(`${mutant.what}: ${mutant.test} fails without a mutant:\n${fault}`)
    return
  }
  const path = join(copy, mutant.file)
  const original = readFileSync(path, 'utf8')
  const { text, line } = applied(mutant, copy)
  writeFileSync(path, text)
  const { code, output } = await runTest(copy, mutant)
  writeFileSync(path, original)
  // Any other failure would count as a killed mutant: a file that does not exist, or a mutant that cannot be parsed.
  const killed = code !== 0 && /Tests .*[1-9]\d* failed/.test(stripVTControlCharacters(output))
  const shown = code === 0 ? '' : `\n${output.slice(-2_000)}`
  if (!killed) survivors.push(`${mutant.what}: ${mutant.file}:${line} → ${mutant.to}${shown}`)
  print(`${killed ? 'killed  ' : 'SURVIVED'} ${mutant.file}:${line} ${mutant.what}`)
}

async function work(): Promise<void> {
  const copy = copyWorkspace()
  try {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) await tryMutant(mutant, copy)
  } finally {
    rmSync(copy, { recursive: true })
  }
}

const all = waiting.length
await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
print(`\n${all - survivors.length} of ${all} mutants killed`)
if (survivors.length > 0) print(`\nSurvived:\n${survivors.join('\n')}`)
if (all === 0 || survivors.length > all * (1 - KILLED)) process.exitCode = 1
