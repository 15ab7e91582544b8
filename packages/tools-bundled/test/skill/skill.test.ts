import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogEntry } from '@bulkhead/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { readHead, createSkill } from '../../src/skill/skill.ts'
import { sessionMemory } from '../memory.ts'
import { toolSession } from '../tool-session.ts'

const skillText = (name: string, description: string, body = `How to ${name}.`) => `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`

describe('skill', () => {
  const logged: LogEntry[] = []
  const memory = sessionMemory()
  const tool = toolSession(createSkill({ paths: ['team/skills'] }), { session: memory, log: (entry) => void logged.push(entry) })
  let sessions = 0
  beforeEach(() => {
    memory.current = `session-${++sessions}`
    logged.length = 0
  })

  it('loads a skill from any folder of the project', async () => {
    await tool.put('.agents/skills/release/SKILL.md', skillText('release', 'Makes a release.'))
    await tool.put('.claude/skills/review/SKILL.md', '---\r\nname: "review"\r\ndescription: >\r\n  Looks at\r\n  a change.\r\nlicense: MIT\r\n---\r\nLook twice.\r\n')
    await tool.put('team/skills/deploy/SKILL.md', skillText('deploy', 'Deploys.'))
    expect(await tool.call({ name: 'release' })).toEqual({ content: '<skill_content name="release">\nHow to release.\n</skill_content>' })
    expect(await tool.call({ name: 'review' })).toEqual({ content: '<skill_content name="review">\nLook twice.\n</skill_content>' })
    expect(await tool.call({ name: 'deploy' })).toMatchObject({ content: expect.stringContaining('How to deploy.') })
  })

  it('lists the available skills if the name is unknown', async () => {
    const { code, message } = await tool.refusal({ name: 'fly' })
    expect(code).toBe('NotFound')
    expect(message).toContain('- release: Makes a release.')
    expect(message).toContain('- review: Looks at a change.')
  })

  it('uses the first skill of a name, and logs the skills that it leaves out', async () => {
    await tool.put('.claude/skills/release/SKILL.md', skillText('release', 'Another.', 'Not this.'))
    await tool.put('.agents/skills/misnamed/SKILL.md', skillText('other', 'x'))
    await tool.put('.agents/skills/Bad_Name/SKILL.md', skillText('Bad_Name', 'x'))
    await tool.put('.agents/skills/headless/SKILL.md', 'no head')
    await tool.put('.agents/skills/bomb/SKILL.md', '---\na: &a [x]\nb: *a\nname: bomb\ndescription: x\n---\n')
    await tool.put('.agents/skills/README.md', 'not a folder')
    expect(await tool.call({ name: 'release' })).toMatchObject({ content: expect.stringContaining('How to release.') })
    for (const name of ['other', 'Bad_Name', 'headless', 'bomb']) expect((await tool.refusal({ name })).code).toBe('NotFound')
    expect(logged.filter(({ level }) => level === 'warn').map(({ text }) => text).join('\n')).toMatch(/misnamed[^]*\.claude\/skills\/release/)
  })

  it('does not load skills through links or names that lead out of its folders', async () => {
    const outside = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-skill-')))
    mkdirSync(join(outside, 'evil'))
    writeFileSync(join(outside, 'evil/SKILL.md'), skillText('evil', 'x', 'the canary sings'))
    await symlink(join(outside, 'evil'), join(tool.workspace, '.agents/skills/evil'))
    await tool.put('.agents/skills/linked/nothing')
    await symlink(join(outside, 'evil/SKILL.md'), join(tool.workspace, '.agents/skills/linked/SKILL.md'))
    for (const name of ['evil', 'linked', '../../../etc', 'release/../../evil']) {
      expect((await tool.refusal({ name })).message).not.toContain('canary')
    }
    rmSync(outside, { recursive: true })
  })

  it('indexes skills once per session, and reads each body once', async () => {
    await tool.put('.agents/skills/once/SKILL.md', skillText('once', 'x'))
    const first = await tool.call({ name: 'once' })
    await writeFile(join(tool.workspace, '.agents/skills/once/SKILL.md'), skillText('once', 'x', 'changed'))
    await tool.put('.agents/skills/later/SKILL.md', skillText('later', 'x'))
    expect(await tool.call({ name: 'once' })).toEqual(first)
    expect((await tool.refusal({ name: 'later' })).code).toBe('NotFound')
    memory.current = 'another'
    expect(await tool.call({ name: 'once' })).toMatchObject({ content: expect.stringContaining('changed') })
    expect(await tool.call({ name: 'later' })).toMatchObject({ content: expect.stringContaining('later') })
    await rm(join(tool.workspace, '.agents/skills/release'), { recursive: true })
    expect((await tool.refusal({ name: 'release' })).code).toBe('ToolExecutionFailed')
  })

  it('uses the name as its approval key', async () => {
    expect(await tool.key({ name: 'release' })).toBe('release')
  })
})

describe('readHead()', () => {
  it.each([
    ['---\nname: a-b\ndescription: d\n---', 'a-b', { name: 'a-b', description: 'd' }],
    ['---\nname: a--b\ndescription: d\n---', 'a--b', /name/], ['---\nname: a\ndescription: ""\n---', 'a', /description/],
    [`---\nname: a\ndescription: ${'x'.repeat(1_025)}\n---`, 'a', /description/], ['---\n- a\n---', 'a', /YAML/], ['---\nname: [\n---', 'a', /YAML/],
    ['---\nname: a', 'a', /begin/], [`---\nname: ${'a'.repeat(65)}\n---`, 'a', /name/],
  ])('%j', async (text, folder, expected) => {
    const head = await readHead(text, folder)
    if (expected instanceof RegExp) expect(head).toMatch(expected)
    else expect(head).toEqual(expected)
  })
})
