import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packFolder } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { conform, createRecorder } from '../src/index.ts'
import { GOOD } from './examples/good.ts'
import { OPERATORS } from './examples/mutants.ts'
import { writeExample, type Example } from './examples/package-of.ts'

const loader = { coreVersion: '1.0.0', roots: { global: null }, bundled: [] }
/** A package from a folder is never signed. */
const ORIGIN = 'package-provenance'

let folder: string
beforeAll(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-mutants-'))) })
afterAll(() => rmSync(folder, { recursive: true }))

interface Mutant {
  readonly name: string
  readonly example: Example
  readonly near: readonly string[]
}

const MUTANTS: readonly Mutant[] = Object.entries(GOOD).flatMap(([good, example]) =>
  Object.entries(OPERATORS).flatMap(([operator, { near, apply }]) => {
    const changed = apply(example)
    return changed ? [{ name: `${good}: ${operator}`, example: changed, near }] : []
  }))

let count = 0
async function isCaught({ example }: Mutant, only: readonly string[] | undefined): Promise<boolean> {
  const workspace = join(folder, `workspace-${++count}`)
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'README.md'), 'Some words.\n')
  await using opened = new AsyncDisposableStack()
  try {
    const { extension, warnings } = await packFolder(writeExample(join(folder, `mutant-${count}`), example), { loader })
    const recorder = await createRecorder()
    opened.defer(() => recorder.close())
    const sandbox = createSandbox({ workspace, dryRun: recorder.dryRun })
    opened.defer(() => sandbox.close())
    const results = await conform({ extension, warnings, sandbox, workspace, recorder }, only && { only })
    return results.some(({ id, ok }) => ok === false && id !== ORIGIN)
  } catch {
    // The package is refused before it is checked.
    return true
  }
}

async function survivorsOf(mutants: readonly Mutant[], isWhole: boolean): Promise<readonly string[]> {
  const survivors: string[] = []
  const queue = [...mutants]
  await Promise.all(Array.from({ length: 3 }, async () => {
    for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
      const caught = await isCaught(mutant, mutant.near) || (isWhole && await isCaught(mutant, undefined))
      if (!caught) survivors.push(mutant.name)
    }
  }))
  return survivors
}

it('there are enough mutants of every good example', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(300)
  for (const good of Object.keys(GOOD)) {
    expect(MUTANTS.filter(({ name }) => name.startsWith(`${good}: `)).length).toBeGreaterThanOrEqual(25)
  }
})

const isStatic = ({ near }: Mutant): boolean => near.every((group) => group === 'manifest' || group === 'package')

it('the suite catches at least 95 % of the mutants', { ...LONG, timeout: 3 * 60 * 60 * 1_000 }, async () => {
  // Here only some that need no run. Each of the others starts dozens of compartments.
  const mutants = thoroughly(MUTANTS.filter(isStatic).filter((_, index) => index % 58 === 0), MUTANTS)
  const survivors = await survivorsOf(mutants, thoroughly(false, true))
  expect(1 - survivors.length / mutants.length, survivors.join('\n')).toBeGreaterThanOrEqual(0.95)
})
