import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { createKitPrompts } from '../../src/own-prompts.ts'
import { fillKit, parseKit, type Kit } from '../../src/prompts/kits.ts'

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-kits-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
const silent = { report: (fault: string) => expect.fail(fault) }

it('ships four kits, whose texts use all of their arguments', async () => {
  const prompts = createKitPrompts('/nowhere')
  const kits = await prompts.list(silent)
  expect(kits.map(({ name }) => name)).toEqual(['code-quality', 'debug', 'project-setup', 'tdd'])
  for (const { name, title, arguments: args } of kits) {
    expect(title).toBeTypeOf('string')
    const values = new Map(args.map((one) => [one.name, `value of ${one.name}`]))
    const { messages: [message] } = await prompts.get(name, values, silent)
    for (const value of values.values()) expect(message!.content).toHaveProperty('text', expect.stringContaining(value))
  }
})

it.each([
  ['Kit', 'text: a', /name of its file/],
  ['kit', '[', /not valid YAML/],
  ['kit', 'a: &a [*a]', /^aliases such as \*name are not allowed$/],
  ['kit', '- a', /not a YAML mapping/],
  ['kit', 'text: a', /"description" and "text"/],
  ['kit', 'description: a\ntext: " "', /"description" and "text"/],
  ['kit', 'description: a\ntext: a\nmodel: big', /unknown key "model"/],
  ['kit', 'description: a\ntext: a\ntitel: A', /unknown key "titel"\. Did you mean "title"\?$/],
  ['kit', 'description: a\ntext: a\nneeds: read', /"needs" must be a list/],
  ['kit', 'description: a\ntext: a\nneeds: ["read|"]', /"needs" must be a list/],
  ['kit', 'description: a\ntext: a\ntitle: 5', /"title"/],
  ['kit', 'description: a\ntext: a\narguments: all', /"arguments" must be a list/],
  [
    'kit', 'description: a\ntext: a\narguments: [{ name: __proto__ }]',
    /^the argument \{"name":"__proto__"\} is not valid\. It must have a "name" of a-z/,
  ],
  ['kit', 'description: a\ntext: a\narguments: [{ name: a, values: [1] }]', /the argument .* is not valid/],
  ['kit', 'description: a\ntext: a\narguments: [{ name: a }, { name: a }]', /the same name/],
  ['kit', `description: a\ntext: a\nneeds: [${'a,'.repeat(33)}]`, /"needs" must be a list/],
  ['kit', `description: a\ntext: a\narguments: [${'{ name: a },'.repeat(33)}]`, /"arguments" must be .* at most 32/],
  ['kit', `description: a\nsteps: [${'a,'.repeat(51)}]`, /"steps" must be a list of 1 to 50 steps/],
  ['kit', 'description: a\ntext: "{{who}}"', /uses \{\{who\}\}, which is not an argument\.$/],
  [
    'kit', 'description: a\ntext: "{{ who }}"\narguments: [{ name: who }]',
    /argument\. Write \{\{who\}\} without spaces\.$/,
  ],
  ['kit', 'description: a\ntext: "{{whom}}"\narguments: [{ name: who }]', /argument\. Did you mean "who"\?$/],
])('does not accept %s with %j', async (name, text, fault) => {
  expect(await parseKit(name, text)).toMatch(fault)
})

it('inserts values once', () => {
  const kit: Kit = {
    name: 'k', description: 'd', arguments: [{ name: 'a' }, { name: 'b', default: 'B' }], needs: [],
    text: '{{a}}|{{b}}',
  }
  fc.assert(fc.property(fc.string(), fc.option(fc.string()), (a, b) => {
    const values = new Map([['a', a], ...(b === null ? [] : [['b', b] as const])])
    expect(fillKit(kit, values)).toBe(`${a}|${b ?? 'B'}`)
  }))
  expect(fillKit(kit, new Map([['a', '{{b}} $& ']]))).toBe('{{b}} $& |B')
})

it('reads 200 files of a folder, and reports that there are more', async () => {
  const kit = 'description: a\ntext: a'
  const files = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`k${index}.yaml`, kit]))
  const faults: string[] = []
  const kits = await createKitPrompts(folderWith(files)).list({ report: (fault) => void faults.push(fault) })
  expect(kits.filter(({ name }) => /^k\d/.test(name))).toHaveLength(200)
  expect(faults).toEqual([expect.stringContaining('has more than 200 files. The others are left out.')])
})

it('adds the kits of the user, replaces by name, and reports each faulty one once', async () => {
  const prompts = createKitPrompts(folderWith({
    'tdd.yml': 'description: Mine.\ntext: My way.', 'long.yaml': `description: a\ntext: ${'x'.repeat(70_000)}`,
    'notes.md': 'no kit', 'faulty.yaml': '- a',
  }))
  const faults: string[] = []
  const reader = { report: (fault: string) => void faults.push(fault) }
  const kits = await prompts.list(reader)
  expect(kits.map(({ name }) => name)).toEqual(['code-quality', 'debug', 'project-setup', 'tdd'])
  await prompts.list(reader)
  expect(faults.toSorted()).toEqual([
    expect.stringMatching(/faulty\.yaml is left out/),
    expect.stringMatching(/long\.yaml is left out: it has more than 65536 bytes/),
  ])
  expect(await prompts.get('tdd', new Map(), reader)).toMatchObject({
    messages: [{ role: 'user', content: { text: 'My way.' } }],
  })
  await expect(prompts.get('none', new Map(), reader)).rejects.toThrow('There is no kit "none".')
  expect(await prompts.complete('tdd', 'runner', reader)).toEqual([])
})

it('accepts the kit of the guide', async () => {
  const guide = readFileSync(new URL('../../../../docs/guides/mcp.md', import.meta.url), 'utf8')
  const [, name, text] = /^```yaml ([a-z-]+)\.yaml\n([^]*?)^```/m.exec(guide)!
  expect(fillKit(await parseKit(name!, text!) as Kit, new Map([['version', '1.2.0']])))
    .toBe('Write release notes for 1.2.0, in a plain tone.\n')
})

it('reads the kits of morphix, with our names of tools', async () => {
  const text = `
tool_kit: tdd_workflow
goal: A feature with tests
steps:
  - { order: 2, tool: test_runner, action: run, params: { path: tests }, note: It fails. }
  - { order: 1, tool: file_manager, action: write, note: Write a test. }
  - { order: 3, note: Refactor. }`
  const kit = await parseKit('tdd_workflow', text) as Kit
  expect(kit).toMatchObject({
    name: 'tdd_workflow', description: 'A feature with tests', needs: ['write', 'test_runner'],
  })
  expect(kit.text).toBe('Goal: A feature with tests\n\n1. write, with `write`: Write a test.\n'
    + '2. run, with `test_runner` {"path":"tests"}: It fails.\n3. Refactor.')
  expect(await parseKit('kit', 'goal: a\nsteps: []')).toMatch(/"steps" must be a list/)
  expect(await parseKit('kit', 'goal: a\nsteps: [{ tol: x }]')).toMatch(/a step must be a string/)
})

it.each([
  ['tdd_workflow', 'tdd'], ['debug_cycle', 'debug'], ['project_setup', 'project-setup'],
  ['code_quality', 'code-quality'],
])('finds %s, which is %s here', async (theirs, ours) => {
  const prompts = createKitPrompts('/nowhere')
  expect(await prompts.get(theirs, new Map(), silent)).toEqual(await prompts.get(ours, new Map(), silent))
})
