import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BUNDLED_TOOLS } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { readGuidance } from '../../src/own-prompts.ts'
import { notesFor, parseGuidance, type Guidance } from '../../src/prompts/guidance.ts'

const silent = { report: (fault: string) => expect.fail(fault) }

it('ships guidance for every locked tool, whose notes need the other tools that they name', async () => {
  const guidance = await readGuidance('/nowhere', silent)
  expect(guidance.map(({ tool }) => tool)).toEqual(BUNDLED_TOOLS)
  for (const { tool, notes } of guidance) {
    for (const { text, needs } of notes) {
      const named = [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name!)
      expect(needs.toSorted(), `${tool}: ${text}`).toEqual(named.filter((name) => name !== tool).toSorted())
      expect(BUNDLED_TOOLS).toEqual(expect.arrayContaining(named))
    }
  }
})

it.each([
  ['1x', 'notes: [a]', /name of a tool/],
  ['x', 'a: &a [*a]', /aliases/],
  ['x', 'notes: a', /"notes" must be a list/],
  ['x', 'notes: []', /must have 1 to 50 notes/],
  ['x', `notes: [${'a,'.repeat(51)}]`, /must have 1 to 50 notes/],
  ['x', 'tips: [5]', /"tips" must be a list of strings/],
  ['x', 'tool: "a b"\ntips: [a]', /"tool" must be the name of a tool/],
  ['x', 'note: [a]', /unknown key "note"\. Did you mean "notes"\?$/],
  ['x', 'notes: [5]', /a note must be a string/],
  ['x', 'notes: [{ text: " " }]', /"text" of a note/],
  ['x', 'notes: [{ text: a, need: [read] }]', /unknown key "need"\. Did you mean "needs"\?$/],
  ['x', 'notes: [{ text: a, needs: [1] }]', /"needs" must be a list/],
  ['x', 'notes: [{ text: a, needs: ["../x"] }]', /"needs" must be a list/],
])('does not accept %s with %j', async (name, text, fault) => {
  expect(await parseGuidance(name, text)).toMatch(fault)
})

it('leaves out notes that need a tool the session does not have', async () => {
  const text = 'notes: [Always., { text: With both., needs: [a, b] }, { text: With one., needs: ["a|b"] }]'
  const guidance = await parseGuidance('x', text) as Guidance
  const notes = (...tools: readonly string[]) => notesFor(guidance, new Set(tools))
  expect(notes('a', 'b')).toBeUndefined()
  expect(notes('x')).toBe('Always.')
  expect(notes('x', 'b')).toBe('Always. With one.')
  expect(notes('x', 'a', 'b')).toBe('Always. With both. With one.')
})

it('takes the guidance of the user too, replaces ours by name, and reports what it leaves out', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-guidance-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'github_create_issue.yaml'), 'notes: [Ask first.]')
  writeFileSync(join(folder, 'bash.yml'), 'notes: [Mine.]')
  writeFileSync(join(folder, 'read.yaml'), 'notes: {}')
  mkdirSync(join(folder, 'write.yaml'))
  const faults: (readonly [string, string])[] = []
  const guidance = await readGuidance(folder, { report: (fault, location) => void faults.push([fault, location]) })
  expect(guidance.map(({ tool }) => tool)).toEqual(['github_create_issue', ...BUNDLED_TOOLS])
  expect(guidance.find(({ tool }) => tool === 'bash')!.notes).toEqual([{ text: 'Mine.', needs: [] }])
  expect(faults.toSorted()).toEqual([
    [expect.stringMatching(/read\.yaml is left out: "notes" must/), join(folder, 'read.yaml')],
    [expect.stringMatching(/write\.yaml is left out: it is not a file\.$/), join(folder, 'write.yaml')],
  ])
})

it('reads the skills of morphix, under our names of tools', async () => {
  const text = 'tool: bash_manager\nwhen_to_use: [to build]\nwhen_not_to_use: [for git]\n'
    + 'examples: [npm test, { command: ls }]\ntips: Quote paths.'
  const guidance = await parseGuidance('bash_manager', text) as Guidance
  expect(guidance.tool).toBe('bash')
  expect(notesFor(guidance, new Set(['bash'])))
    .toBe('Use it: to build Do not use it: for git Example: npm test Example: {"command":"ls"} Quote paths.')
})
