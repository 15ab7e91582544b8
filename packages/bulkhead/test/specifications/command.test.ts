import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SPECIFICATIONS } from '@bulkhead/conformance'
import { afterAll, expect, it } from 'vitest'
import { inside } from '../command-inside.ts'

const folder = mkdtempSync(join(tmpdir(), 'bulkhead-specification-'))
afterAll(() => rmSync(folder, { recursive: true }))
const run = (...args: string[]) => inside(['conformance', ...args], folder)

it('prints one row for each requirement, and what differs with its reason', async () => {
  const { code, stdout, stderr } = await run('--specification', 'phi')
  expect([code, stderr]).toEqual([0, ''])
  const rows = stdout.split('\n').filter((line) => line.startsWith('S4-'))
  expect(rows).toHaveLength(40)
  expect(rows[22]).toMatch(/^S4-23 {2}differs .*\(decision 148, docs\/guides\/dialects\.md\)$/)
  expect(stdout).toMatch(/\nphi: \d+ hold, \d+ differ\./)
})

it('prints the same as data', async () => {
  const { stdout } = await run('--specification', 'grida', '--json')
  const { summary, ...specification } = JSON.parse(stdout)
  expect(specification).toEqual(SPECIFICATIONS.find(({ name }) => name === 'grida'))
  expect(summary.holds + summary.differs).toBe(113)
})

it('suggests the nearest name, and takes no target', async () => {
  expect(await run('--specification', 'morhpix')).toMatchObject({
    code: 2, stderr: expect.stringContaining('Did you mean "morphix"?'),
  })
  expect(await run('.', '--specification', 'phi')).toMatchObject({
    code: 2, stderr: expect.stringContaining('--specification takes no target and only --json.'),
  })
})
