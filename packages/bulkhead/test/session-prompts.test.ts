import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createHost, type BulkheadEvent, type Host, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-prompts-'))
  for (const name of ['work/.agents/skills/deploy', 'home/guidance', 'home/kits'])
    mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(
    join(folder, 'work/.agents/skills/deploy/SKILL.md'), '---\nname: deploy\ndescription: How to deploy.\n---\nPush.',
  )
  const agents = [{ name: 'reviewer', prompt: 'Reviews changes.\nBe strict.' }, { name: 'silent' }]
  host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, env: {}, agents, trust: 'trusted',
  })
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

const prompted = async (options: SessionOptions, maxChars?: number) => {
  const session = await host.openSession(options)
  const { sections, omitted } = await host.promptSections(session, maxChars === undefined ? {} : { maxChars })
  return { session, omitted, text: Object.fromEntries(sections.map(({ id, text }) => [id, text])) }
}
const userFile = (name: string, text: string): void => {
  writeFileSync(join(folder, 'home', name), text)
  onTestFinished(() => rmSync(join(folder, 'home', name)))
}

it('has the skills, agents, guidance and kits that the tools of the session are enough for', async () => {
  const { text } = await prompted({})
  expect(text['skills']).toMatch(/\n- deploy: How to deploy\.$/)
  expect(text['agents']).toMatch(/:\n- reviewer: Reviews changes\.\n- silent$/)
  expect(text['tools']).toMatch(/\n- read: .*`grep`/)
  expect(text['kits']).toMatch(/^### Test-driven development$/m)
  const { text: narrow } = await prompted({ tools: ['read'] })
  expect(Object.keys(narrow)).toEqual(['tools', 'kits'])
  expect(narrow['tools']).not.toContain('grep')
  expect(narrow['kits']).not.toContain('Test-driven')
})

it('leaves out what is about tools whose calls are all denied', async () => {
  const deny = (permission: string) => ({ permission, pattern: '*', action: 'deny' as const })
  const { text, session } = await prompted({
    rules: [deny('bash'), deny('edit'), deny('write'), deny('apply_patch'), deny('git')],
  })
  expect(text['tools']).not.toMatch(/^- (bash|edit|write|apply_patch|git):/m)
  expect(text['kits']).not.toContain('Test-driven')
  expect(session.deniedAlways('bash')).toMatch(/^the rule "bash \*" of .* forbids it$/)
  expect(session.deniedAlways('none')).toBeUndefined()
  const reading = await prompted({ ceiling: { fs: { read: ['{workspace}'] } } })
  expect(reading.text['tools']).toMatch(/^- read:/m)
  expect(reading.text['tools']).not.toMatch(/^- (edit|write|apply_patch|web_fetch):/m)
  const partly = await prompted({ rules: [deny('bash'), { permission: 'bash', pattern: 'git *', action: 'ask' }] })
  expect(partly.text['tools']).toMatch(/^- bash:/m)
})

it('asks no person for skills, and looks once in a session', async () => {
  const events: BulkheadEvent[] = []
  onTestFinished(host.on((event) => events.push(event), ['ToolInvocationProposed']))
  const rules = [{ permission: 'skill', pattern: '*', action: 'ask' as const }]
  expect((await prompted({ rules, approver: { approve: () => expect.fail('asked') } })).text).not.toHaveProperty(
    'skills',
  )
  expect(events).toEqual([])
  const { session, text } = await prompted({ budget: { calls: 2 } })
  expect(text).toHaveProperty('skills')
  await host.promptSections(session)
  expect(events).toHaveLength(1)
  expect(await session.call({ id: 'c', name: 'skill', arguments: { name: 'deploy' } })).toMatchObject({
    type: 'output',
  })
})

it('names what does not fit', async () => {
  const { omitted, text } = await prompted({}, 1_000)
  expect(text).not.toHaveProperty('kits')
  expect(omitted.map(({ section, name }) => `${section}/${name}`)).toContain('kits/tdd')
})

it('takes the files of the user as they are at each time, and reports malformed ones', async () => {
  userFile('guidance/read.yaml', 'notes: [My own note.]')
  userFile('kits/tdd.yaml', 'description: d\ntext: My own way.\nneed: [read]')
  const { text, session } = await prompted({})
  expect(text['tools']).toContain('\n- read: My own note.\n')
  expect(text['kits']).toContain('### Test-driven development')
  expect(host.diagnostics).toContainEqual(expect.objectContaining({
    severity: 'warning', code: 'ConfigInvalid', layer: 'global', location: join(folder, 'home/kits/tdd.yaml'),
    message: expect.stringMatching(/unknown key "need"\. Did you mean "needs"\?$/),
  }))
  writeFileSync(join(folder, 'home/kits/tdd.yaml'), 'description: d\ntext: My own way.\nneeds: [read]')
  expect((await host.promptSections(session)).sections.at(-1)!.text).toContain('My own way.')
  expect(host.diagnostics.filter(({ location }) => location.endsWith('tdd.yaml'))).toEqual([])
})

it('refuses invalid options', async () => {
  const session = await host.openSession()
  await expect(host.promptSections(session, { maxChars: 0 })).rejects.toMatchObject({
    code: 'ConfigInvalid', data: { path: '/maxChars' },
  })
  await expect(host.promptSections(session, { maxchars: 5 } as never)).rejects.toThrow('Did you mean "maxChars"?')
  await expect(host.promptSections('s1' as never)).rejects.toMatchObject({ code: 'ConfigInvalid' })
})

it('does what the guide says', async () => {
  const guide = readFileSync(new URL('../../../docs/guides/prompts.md', import.meta.url), 'utf8')
  const block = (name: string): string => new RegExp(`^\`\`\`\\w+ ${name}\n([^]*?)^\`\`\``, 'm').exec(guide)![1]!
  userFile('guidance/grep.yaml', block('github_create_issue.yaml'))
  userFile('kits/write-docs.yaml', block('write-docs.yaml'))
  const program = block('prompt.ts')
    .replace(
      'process.cwd()',
      `${JSON.stringify(join(folder, 'work'))}, home: ${JSON.stringify(join(folder, 'home'))}, env: {}`,
    )
    .replace("'bulkhead'", JSON.stringify(new URL('../src/index.ts', import.meta.url).href))
  writeFileSync(join(folder, 'prompt.ts'), program)
  const { system, missing } = (await import(pathToFileURL(join(folder, 'prompt.ts')).href)) as {
    system: string
    missing: readonly string[]
  }
  expect(system).toContain('## Using the tools\n\n')
  expect(system).toContain('- grep: Search for an issue about the same matter first.\n')
  expect(system).toContain('### Write documentation\n')
  expect(missing).toEqual([])
})
