import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SkillDescriptor } from '@bulkhead/contract'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { readSkillHead } from '../skill.ts'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

const textOf = (body: string) => `---\nname: x\ndescription: y\n---\n${body}\n`
const digest = (text: string) => hash('sha512', text, 'hex')

describe('skill', () => {
  const user = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-skill-')))
  afterAll(() => rmSync(user, { recursive: true }))
  let skills: SkillDescriptor[] = []
  const loaded: string[] = []
  const memory = sessionMemory()
  memory.current = 's1'
  const tool = toolSession('skill', { session: memory }, { bundled: { skills: {
    folders: ['.agents/skills'],
    catalog: {
      skills: () => skills, read: ({ location }, path) => readFile(join(location, path)),
      loaded: (sessionId, { name }) => void loaded.push(`${sessionId} ${name}`),
    },
  } } })
  beforeEach(() => {
    skills = []
    loaded.length = 0
  })

  /** A skill as the loader reports it. */
  async function put(
    name: string, layer: SkillDescriptor['layer'], body = `How to ${name}.`,
    more: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const location = layer === 'project' ? join(tool.workspace, '.agents/skills', name) : join(user, name)
    const files = { 'SKILL.md': textOf(body), ...more }
    for (const [path, text] of Object.entries(files)) {
      if (layer === 'project') await tool.put(`.agents/skills/${name}/${path}`, text)
      else {
        mkdirSync(location, { recursive: true })
        writeFileSync(join(location, path), text)
      }
    }
    skills.push({
      name, description: `About\n ${name}.`, layer, location,
      files: new Map(Object.entries(files).map(([path, text]) => [path, digest(text)])),
    })
    return location
  }

  it('returns the instructions of a skill, its folder and its files, and reports that the session has it', async () => {
    const theirs = await put('release', 'project')
    const own = await put('deploy', 'global', '\r\nPush. \n\n', { 'b.sh': '', 'a.md': '' })
    expect(await tool.call({ name: 'release' })).toEqual({
      content: `<skill_content name="release" folder="${theirs}">\nHow to release.\n</skill_content>`, folder: theirs,
    })
    expect(await tool.call({ name: 'deploy' })).toEqual({
      content: `<skill_content name="deploy" folder="${own}">\nPush.\n</skill_content>`, folder: own,
      files: ['a.md', 'b.sh'],
    })
    expect(loaded).toEqual(['s1 release', 's1 deploy'])
  })

  it('lists the available skills if the name is unknown', async () => {
    await put('release', 'project')
    const { code, message } = await tool.refusal({ name: 'fly' })
    expect(code).toBe('NotFound')
    expect(message).toContain('- release: About release.')
  })

  it('names at most 100 files, and lists skills in 4000 characters', async () => {
    await put('many', 'global', 'x', Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`${index}.md`, ''])))
    expect(await tool.call({ name: 'many' })).toMatchObject({ files: { length: 100 } })
    const description = 'x'.repeat(1_000)
    skills = Array.from({ length: 9 }, (_, index) => ({ ...skills[0]!, name: `s${index}`, description }))
    const { message } = await tool.refusal({ name: 'none' })
    expect(message.match(/\n- s\d: x{1000}/g)).toHaveLength(3)
  })

  it.each(['project', 'global'] as const)(
    'does not use a skill of the %s layer whose text has changed or is gone',
    async (layer) => {
      const file = join(await put('release', layer), 'SKILL.md')
      writeFileSync(file, textOf('the canary sings'))
      expect(await tool.refusal({ name: 'release' })).toMatchObject({
        code: 'ToolExecutionFailed', message: expect.stringMatching(/^(?!.*canary).*has changed/),
      })
      rmSync(file)
      expect(await tool.refusal({ name: 'release' })).toMatchObject({
        code: 'ToolExecutionFailed', message: expect.stringMatching(/^Cannot read/),
      })
      expect(loaded).toEqual([])
    },
  )

  it('does not follow a link out of the folders of a project', async () => {
    const file = join(await put('release', 'project'), 'SKILL.md')
    writeFileSync(join(user, 'same'), textOf('How to release.'))
    rmSync(file)
    symlinkSync(join(user, 'same'), file)
    expect((await tool.refusal({ name: 'release' })).code).toBe('ToolExecutionFailed')
  })

  it('uses the name as its approval key', async () => {
    expect(await tool.key({ name: 'release' })).toBe('release')
  })
})

describe('readSkillHead()', () => {
  it.each([
    ['---\nname: a-b\ndescription: d\n---', 'a-b', { name: 'a-b', description: 'd' }],
    [
      '---\r\nname: "review"\r\ndescription: >\r\n  Looks at\r\n  a change.\r\nlicense: MIT\r\n---\r\nLook twice.\r\n',
      'review', { name: 'review', description: 'Looks at a change.\n' },
    ],
    ['---\nname: a--b\ndescription: d\n---', 'a--b', /name/],
    ['---\nname: a\ndescription: ""\n---', 'a', /description/],
    [`---\nname: a\ndescription: ${'x'.repeat(1_025)}\n---`, 'a', /description/], ['---\n- a\n---', 'a', /YAML/],
    ['---\nname: [\n---', 'a', /YAML/], ['---\na: &a [x]\nb: *a\nname: bomb\ndescription: x\n---\n', 'bomb', /YAML/],
    ['---\nname: other\ndescription: x\n---\n', 'misnamed', /its folder, misnamed/], ['---\nname: a', 'a', /begin/],
    ['no head', 'a', /begin/], [`---\nname: ${'a'.repeat(65)}\n---`, 'a', /name/],
    ['---\nname: Bad_Name\ndescription: x\n---', 'Bad_Name', /name/],
  ])('reads the head of %j', async (text, folder, expected) => {
    const head = await readSkillHead(text, folder)
    if (expected instanceof RegExp) expect(head).toMatch(expected)
    else expect(head).toEqual(expected)
  })
})
