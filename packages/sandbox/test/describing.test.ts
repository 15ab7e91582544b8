import { readdir } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { SHIM_MODULES } from '../src/wire/shim-table.ts'
import { SHIM_GLOBALS } from '../src/worker/allow-list.ts'
import { invocation, newSandbox, refusal, requestOf, temporaryFolder } from './fixture.ts'

const described = (source: string) => ({ ...requestOf({ placement: 'process', source }), describes: true as const })

const NAMES = [...SHIM_MODULES.keys()]

/** Every module and global that has a shim. Functions for files and commands are tried as they would work in a call. */
const TRIES = `
${NAMES.map((name, at) => `import * as module${at} from 'node:${name}'`).join('\n')}
const found = { ${NAMES.map((name, at) => `'${name}': module${at}.default`).join(', ')} }
const globals = { ${SHIM_GLOBALS.join(', ')} }
const work = async () => {
  const worked = []
  for (const name of ['fs', 'fs/promises', 'child_process']) {
    for (const [member, use] of Object.entries(found[name])) {
      if (typeof use !== 'function') continue
      const outcome = await new Promise((done) => {
        try {
          const value = use('out.txt', 'text', () => done('callback'))
          if (typeof value?.on === 'function') {
            value.on('error', () => done('denied')).on('spawn', () => done('spawned'))
          } else Promise.resolve(value).then((given) => done(String(given)), () => done('denied'))
          setImmediate(() => setImmediate(() => done('nothing')))
        } catch { done('denied') }
      })
      worked.push([name, member, outcome])
    }
  }
  return worked
}
const early = await work()
const sent = await globals.fetch('http://127.0.0.1:9').then(() => 'sent', (error) => error.code)
export default { tools: { run: { execute: async () => ({
  names: Object.keys(found), early, late: await work(), sent,
  classes: [new Headers({ a: 'b' }).get('a'), typeof Request],
}) } } }`

it('gives a module that is described every shim, and no power', async () => {
  const workspace = await temporaryFolder()
  const session = await newSandbox(workspace).open(described(TRIES))
  const { names, early, late, sent, classes } = await session.call(invocation()) as
    Record<'early' | 'late', [module: string, member: string, outcome: string][]> & Record<string, unknown>
  expect({ names, sent, classes }).toEqual({
    names: NAMES, sent: 'CapabilityDenied', classes: ['b', 'function'],
  })
  for (const tried of [early, late]) {
    expect(tried.filter(([, , outcome]) => /spawned|text/.test(outcome))).toEqual([])
    expect(tried).toContainEqual(['fs/promises', 'writeFile', 'denied'])
  }
  expect(await readdir(workspace)).toEqual([])
})

it.each([
  ['awaited', `await readFile('a.txt')`, 'CompartmentStartFailed'],
  ['in a promise without a handler', `readFile('a.txt')`, 'CompartmentCrashed'],
])('names a shim that is used at the top level, %s, and where', async (_, use, code) => {
  const source = `import { readFile } from 'node:fs/promises'\n`
    + `${use}\nexport default { tools: { run: { execute() {} } } }`
  expect(await refusal(newSandbox().open(described(source)))).toMatchObject({
    code,
    message: expect.stringMatching(
      /`readFile of node:fs` works only during a call, .* inside `execute`, .* \(index\.js, line 2\)\.$/,
    ),
  })
})

it('still refuses modules without a shim', async () => {
  expect(await refusal(newSandbox().open(described(`import 'node:vm'`)))).toMatchObject({
    code: 'BuiltinDenied', message: expect.stringMatching(/node:vm .*\(imported in index\.js\)\.$/),
  })
})
