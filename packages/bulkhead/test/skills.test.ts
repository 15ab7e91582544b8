import {
  chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has } from '../../../scripts/machine.ts'
import { runsIf } from '../../../scripts/skips.ts'
import { createHost, type CreateHostOptions, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
let hosts: Host[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-skills-')))
  hosts = []
  for (const name of ['work', 'home/.bulkhead']) mkdirSync(join(folder, name), { recursive: true })
})
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()))
  rmSync(folder, { recursive: true })
})

const home = () => join(folder, 'home/.bulkhead')
const put = (path: string, text: string): string => {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}
const skill = (
  place: string, name: string, body = `How to ${name}.`, head = `name: ${name}\ndescription: About ${name}.`,
): string => dirname(put(`${place}/${name}/SKILL.md`, `---\n${head}\n---\n${body}\n`))

async function open(
  options: Partial<CreateHostOptions> = {},
): Promise<{ readonly host: Host; readonly session: Session }> {
  const host = await createHost({ workspace: join(folder, 'work'), home: home(), cache: CACHE, env: {}, ...options })
  hosts.push(host)
  return { host, session: await host.openSession() }
}

let calls = 0
const call = (session: Session, name: string, args: object) =>
  session.call({ id: `c${++calls}`, name, arguments: args })
const load = (session: Session, name: string) => call(session, 'skill', { name })
const listed = async (host: Host, session: Session): Promise<string | undefined> =>
  (await host.promptSections(session)).sections.find(({ id }) => id === 'skills')?.text

const PLACES = ['work/.agents/skills', 'work/.claude/skills', 'work/.bulkhead/skills', 'work/team/skills']
const putEverywhere = (): void => {
  for (const [index, place] of PLACES.entries()) skill(place, `s${index}`)
  put('work/.bulkhead/config.json', '{"skills":{"paths":["team/skills"]}}')
}

describe('the skills of a project', () => {
  it.each<[string, Partial<CreateHostOptions>]>([
    ['declined', { trust: 'declined' }], ['not decided about', {}],
  ])('are not used if it is %s', async (_, options) => {
    putEverywhere()
    const { host, session } = await open(options)
    expect(await listed(host, session)).toBeUndefined()
    for (const name of ['s0', 's1', 's2', 's3'])
      expect(await load(session, name)).toMatchObject({ error: { code: 'NotFound', data: { skills: [] } } })
    expect(host.diagnostics).toMatchObject([{ severity: 'warning', code: 'ProjectTrustRequired' }])
  })

  it('are used from every place of a trusted one', async () => {
    putEverywhere()
    const { host, session } = await open({ trust: 'trusted' })
    expect(await listed(host, session)).toMatch(
      /:\n- s0: About s0\.\n- s1: About s1\.\n- s2: About s2\.\n- s3: About s3\.$/,
    )
    for (const [index, place] of PLACES.entries()) {
      const location = join(folder, place, `s${index}`)
      expect(await load(session, `s${index}`)).toMatchObject({
        data: {
          content: `<skill_content name="s${index}" folder="${location}">\nHow to s${index}.\n</skill_content>`,
          folder: location,
        },
      })
    }
    expect(host.diagnostics).toEqual([])
  })

  it('need a decision, also without a folder of Bulkhead, and the decision covers every file of them', async () => {
    const location = skill('work/.agents/skills', 'deploy')
    const script = put('work/.agents/skills/deploy/scripts/run.sh', 'echo 1')
    const trust = async (...args: readonly string[]) =>
      JSON.parse(
        (await inside(['trust', '--json', ...args], join(folder, 'work'), { HOME: join(folder, 'home') })).stdout,
      ) as object
    expect(await trust('--status')).toMatchObject({
      status: { kind: 'unknown' }, skills: [{ name: 'deploy', description: 'About deploy.', location }],
    })
    await trust('--yes')
    expect(await listed(...Object.values(await open()) as [Host, Session])).toContain('- deploy')
    for (const change of [
      () => writeFileSync(script, 'echo 2'), () => put('work/.agents/skills/deploy/notes.md', ''),
      () => skill('work/.claude/skills', 'other'),
    ]) {
      await trust('--yes')
      expect(await trust('--status')).toMatchObject({ status: { kind: 'trusted' } })
      change()
      expect(await trust('--status')).toMatchObject({ status: { kind: 'changed' } })
    }
    expect(await listed(...Object.values(await open()) as [Host, Session])).toBeUndefined()
  })

  it('are not used once their content differs from what was trusted', async () => {
    const location = skill('work/.agents/skills', 'deploy')
    const { session } = await open({ trust: 'trusted', config: { mode: 'yolo' } })
    expect(
      await call(session, 'write', {
        path: join(location, 'SKILL.md'), content: '---\nname: deploy\ndescription: x\n---\nevil',
      }),
    ).toMatchObject({ type: 'output' })
    expect(await load(session, 'deploy')).toMatchObject({
      type: 'error', error_text: expect.stringContaining('changed'),
    })
  })
})

it('a home folder is no project, so its other folders with skills are not used and no one is asked', async () => {
  skill('home/.claude/skills', 'deploy')
  const { host, session } = await open({
    workspace: join(folder, 'home'), interactor: { interact: () => expect.fail('asked') },
  })
  expect(await load(session, 'deploy')).toMatchObject({ error: { code: 'NotFound' } })
  expect(host.diagnostics).toEqual([])
})

describe('the skills of the user', () => {
  it.each(['home/.bulkhead/skills', 'home/.bulkhead/data/skills'])(
    'are used from %s, and win over a project, and both are named',
    async (place) => {
      const own = skill(place, 'deploy', 'My way.')
      const theirs = skill('work/.claude/skills', 'deploy', 'Their way.')
      const { host, session } = await open({ trust: 'trusted' })
      expect(await load(session, 'deploy')).toMatchObject({
        data: { content: expect.stringContaining('My way.'), folder: own },
      })
      expect(host.diagnostics).toMatchObject([
        { severity: 'warning', layer: 'project', location: theirs, message: expect.stringContaining(own) },
      ])
    },
  )

  it('cannot be written by a tool that may write the data of the user', async () => {
    writeExtension(
      home(), { id: 'keeper', tools: [{ name: 'keep', requires: { fs: { write: ['{user-data}'] } } }] },
      `export default { tools: {
      keep: { execute: async ({ path }, { fs }) => { await fs.write(path, 'x'); return 'kept' } },
    } }`,
    )
    const { session } = await open({ config: { mode: 'yolo', isolation: { global: 'thread' } } })
    const data = join(home(), 'data')
    expect(await call(session, 'keep', { path: join(data, 'notes/a') })).toMatchObject({ type: 'output' })
    expect(await call(session, 'keep', { path: join(data, 'skills/evil/SKILL.md') })).toMatchObject({
      error: { code: 'CapabilityDenied' },
    })
  })

  it('can be read with all of their files once they are loaded, and by reading tools only', async () => {
    const own = skill('home/.bulkhead/skills', 'deploy')
    put('home/.bulkhead/skills/deploy/scripts/run.sh', 'echo run')
    put('home/.bulkhead/skills/deploy/references/deep/notes.md', 'needle')
    put('home/.bulkhead/skills/other/SKILL.md', '---\nname: other\ndescription: x\n---\n')
    put('home/.bulkhead/config.json', '{}')
    const { host, session } = await open({ config: { mode: 'yolo' } })
    const [script, notes] = [join(own, 'scripts/run.sh'), join(own, 'references/deep/notes.md')]
    expect(await call(session, 'read', { path: script })).toMatchObject({
      type: 'error', error: { code: 'CapabilityDenied' },
    })
    expect(await load(session, 'deploy')).toMatchObject({
      data: { folder: own, files: ['references/deep/notes.md', 'scripts/run.sh'] },
    })
    expect(await call(session, 'read', { path: script })).toMatchObject({ data: { content: 'echo run' } })
    expect(await call(session, 'grep', { pattern: 'needle', path: notes })).toMatchObject({ data: { total: 1 } })
    for (const path of [
      join(home(), 'skills/other/SKILL.md'), join(home(), 'config.json'), join(own, '../../config.json'),
    ]) {
      expect(await call(session, 'read', { path }), path).toMatchObject({ error: { code: 'CapabilityDenied' } })
    }
    expect(await call(session, 'write', { path: script, content: '' })).toMatchObject({
      error: { code: 'CapabilityDenied' },
    })
    const another = await host.openSession()
    expect(await call(another, 'read', { path: script })).toMatchObject({ error: { code: 'CapabilityDenied' } })
  })
})

describe('a skill is left out with a diagnostic', () => {
  it.each<[string, (place: string) => void, RegExp]>([
    [
      'no front matter', (place) => skill(place, 'bad', '', 'no mapping'),
      /bad.* is left out: its front matter is not a YAML mapping/,
    ],
    [
      'another name than its folder', (place) => skill(place, 'bad', '', 'name: good\ndescription: x'),
      /its name must be that of its folder, bad/,
    ],
    ['no SKILL.md', (place) => put(`${place}/bad/skill.txt`, ''), /has no file SKILL\.md/],
    [
      'text that is not UTF-8', (place) => writeFileSync(join(skill(place, 'bad'), 'SKILL.md'), Buffer.from([0xff])),
      /is not a file of UTF-8 text/,
    ],
    [
      'too many bytes', (place) => writeFileSync(join(skill(place, 'bad'), 'data.bin'), Buffer.alloc(40 * 1024 * 1024)),
      /bytes/,
    ],
    [
      'a link in it', (place) => symlinkSync('/etc/hostname', join(skill(place, 'bad'), 'notes.md')),
      /"notes\.md".* is a link/,
    ],
    [
      'a link in its place',
      (place) => {
        skill('elsewhere', 'bad')
        mkdirSync(join(folder, place), { recursive: true })
        symlinkSync(join(folder, 'elsewhere/bad'), join(folder, place, 'bad'))
      },
      /is a link/,
    ],
    [
      'a link in the place of all',
      (place) => {
        skill('elsewhere', 'bad')
        mkdirSync(dirname(join(folder, place)), { recursive: true })
        symlinkSync(join(folder, 'elsewhere'), join(folder, place))
      },
      /is a link/,
    ],
  ])('if it has %s', async (_, write, message) => {
    for (const place of ['work/.agents/skills', 'home/.bulkhead/skills']) write(place)
    const { host, session } = await open({ trust: 'trusted' })
    expect(await load(session, 'bad')).toMatchObject({ error: { code: 'NotFound' } })
    const found = host.diagnostics.map(({ layer, severity, message: text }) => [layer, severity, text])
    expect(found).toEqual([
      ['global', 'warning', expect.stringMatching(message)], ['project', 'warning', expect.stringMatching(message)],
    ])
  })

  it('if its folder is outside of the workspace', async () => {
    skill('outside', 'bad')
    put('work/.bulkhead/config.json', '{"skills":{"paths":["../outside"]}}')
    const { host, session } = await open({ trust: 'trusted' })
    expect(await load(session, 'bad')).toMatchObject({ error: { code: 'NotFound' } })
    expect(host.diagnostics).toMatchObject([
      { layer: 'project', path: '/skills/paths/0', message: expect.stringContaining('inside the workspace') },
    ])
  })

  it('if its file cannot be read', runsIf(!has('root'), 'root can read every file'), async () => {
    chmodSync(join(skill('work/.agents/skills', 'bad'), 'SKILL.md'), 0o000)
    const { host } = await open({ trust: 'trusted' })
    expect(host.diagnostics).toMatchObject([{ layer: 'project', message: expect.stringContaining('cannot be') }])
  })
})

it('does what the guide says', async () => {
  const guide = readFileSync(new URL('../../../docs/guides/prompts.md', import.meta.url), 'utf8')
  const [, text = ''] = /^```text SKILL\.md\n([^]*?)^```/m.exec(guide)!
  const places = [...guide.matchAll(/`([^`]*\/skills)\/NAME`/g)].map(([, place]) => place!)
  expect(places).toEqual([
    '~/.bulkhead/skills', '~/.bulkhead/data/skills', '.agents/skills', '.claude/skills', '.bulkhead/skills',
  ])
  for (const [index, place] of places.entries()) {
    const path = place.startsWith('~') ? `home${place.slice(1)}` : `work/${place}`
    put(`${path}/release-${index}/SKILL.md`, text.replace('name: release', `name: release-${index}`))
  }
  const { host, session } = await open({ trust: 'trusted' })
  expect(host.diagnostics).toEqual([])
  for (const index of places.keys())
    expect(await load(session, `release-${index}`)).toMatchObject({
      data: { content: expect.stringContaining('scripts/check.sh') },
    })
})
