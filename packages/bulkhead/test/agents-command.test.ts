import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'
import { joined } from './joined.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-agents-command-')))
  writeFileSync(join(folder, 'a.txt'), 'text of a\n')
  for (const layer of ['home/.bulkhead', '.bulkhead']) mkdirSync(join(folder, layer, 'agents'), { recursive: true })
  const save = (file: string, content: object) => writeFileSync(join(folder, file), JSON.stringify(content))
  save('home/.bulkhead/agents/reviewer.json', {
    name: 'reviewer', tools: ['read', 'write'], ceiling: { fs: { read: ['**'] } },
  })
  save('home/.bulkhead/agents/broken.json', { name: 'broken', tols: [] })
  save('.bulkhead/agents/helper.json', {
    name: 'helper', roots: ['sub'], rules: [{ permission: 'bash', pattern: 'ls', action: 'allow' }],
  })
})
afterEach(() => rmSync(folder, { recursive: true }))

it('bulkhead agents lists agents, with what is wrong', async () => {
  const { code, stdout } = await inside(['agents', '--trust-project'], folder)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^NAME +LAYER +TOOLS +ROOTS +FILE\n/)
  expect(stdout).toMatch(/^helper +project +all +sub +\S+helper\.json$/m)
  expect(stdout).toMatch(/^reviewer +global +read, write +- +\S+reviewer\.json$/m)
  expect(stdout).toMatch(/^broken +global +invalid /m)
  expect(stdout).toMatch(/error AgentInvalid \(shape\)\n +\/tols is not a known key; perhaps it is "tools"\./)
  const { stdout: json } = await inside(['agents', '--json'], folder)
  expect(JSON.parse(json)).toMatchObject({
    agents: [
      { name: 'broken', manifest: null }, { name: 'reviewer', layer: 'global', manifest: { rules: [] } },
    ],
    diagnostics: [{ code: 'AgentInvalid' }, { code: 'ProjectTrustRequired' }],
  })
})

it('call and explain take the name of an agent', async () => {
  const args = ['--args', '{"path":"a.txt"}', '--no-store']
  expect(await inside(['call', 'read', ...args, '--agent', 'reviewer'], folder)).toMatchObject({
    code: 0, stdout: expect.stringContaining('text of a'),
  })
  expect(
    await inside(['call', 'glob', '--args', '{"pattern":"*"}', '--no-store', '--agent', 'reviewer'], folder),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^ToolNotRegistered .*\nThe host has the tool "glob", but the agent of the session does not offer it\.\n$/,
    ),
  })
  const write = ['explain', 'write', '--args', '{"path":"a.txt","content":""}', '--no-store', '--agent', 'reviewer']
  expect(await inside(write, folder)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^write would be denied \(CapabilityDenied\)[\s\S]*ceiling of the agent reviewer/),
  })
  expect(await inside(['call', 'read', ...args, '--agent', 'reviwer'], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^AgentNotFound No agent is called "reviwer"\. Did you mean "reviewer"\?/),
  })
  expect(await inside(['call', 'read', ...args, '--agent', 'broken'], folder)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^AgentInvalid The agent "broken" cannot be used\. \/tols is not a known key/),
  })
})

it('explain --surface lists what a session may use, and for which tools', async () => {
  const surface = (...more: string[]) => inside(['explain', '--surface', '--no-store', ...more], folder)
  const { code, stdout } = await surface('--agent', 'reviewer')
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^MAY +FOR\nread \S+ +read\nread \S+\/\*\*\/\.\* +read\n$/)])
  expect((await surface()).stdout).toMatch(/^run \* … +bash/m)
  const { items, words } = JSON.parse((await surface('--agent', 'reviewer', '--json')).stdout) as Record<
    string,
    unknown
  >
  const subjects = [folder, `${folder}/**/.*`]
  expect(items).toEqual(subjects.map((subject) => ({ kind: 'fs.read', subject, tools: ['read'], agent: false })))
  expect(words).toEqual(subjects.map((subject) => `read ${subject}`))
  expect(await inside(['explain', 'read', '--surface'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('Leave the name out'),
  })
})

it('trust shows the agents of a project', async () => {
  const { stdout, stderr } = await inside(['trust', '--status'], folder)
  expect(stdout + stderr).toMatch(/agent +helper, offered all tools; its rules allow bash ls/)
  writeFileSync(join(folder, '.bulkhead/agents/reviewer.json'), '{ "name": "reviewer" }')
  const again = await inside(['trust', '--status'], folder)
  expect(again.stdout + again.stderr).toMatch(/agent +reviewer, instead of yours, offered all tools/)
  expect(JSON.parse((await inside(['trust', '--status', '--json'], folder)).stdout)).toMatchObject({
    agents: [
      { name: 'helper', hidesYours: false }, { name: 'reviewer', hidesYours: true },
    ],
  })
})

it('doctor reports an agent that cannot be used', async () => {
  writeFileSync(join(folder, 'home/.bulkhead/agents/older.json'), JSON.stringify({ name: 'older', requires: {} }))
  const { stdout } = await inside(['doctor'], folder)
  expect(stdout).toMatch(/AgentInvalid: \/tols is not a known key/)
  expect(stdout).toMatch(joined(
    /warning .*AgentInvalid: `requires` of the agent "older" limits its session, because .*older\.json at /,
    /\/requires\)\n +cure: Rename it to `ceiling`\./,
  ))
})
