import { afterEach, expect, it, vi } from 'vitest'
import { OUTPUT_REQUIREMENTS } from '../src/output-requirements.ts'

afterEach(() => { vi.unstubAllEnvs() })

const CALL = { kind: 'valid', tool: { name: 'look' }, args: {}, progress: [], updates: 0 }

/** What this call breaks of a requirement. */
const faultOf = (wanted: string, call: object, facts: object = {}) =>
  OUTPUT_REQUIREMENTS.find(({ id }) => id === wanted)!
    .check({ calls: [{ ...CALL, ...call }], workspace: '/work', log: [], hidden: [], ...facts } as never)
const pathsIn = (value: string) => faultOf('output-paths', { value })
const failed = (message: string) => ({ error: { code: 'ToolExecutionFailed', class: 'ToolPermanent', message } })

it('a home folder is a path of the machine, unless it is the root', () => {
  vi.stubEnv('HOME', '/srv/ada')
  expect(pathsIn('/srv/ada/notes')).toContain('it has /srv/ada')
  expect(pathsIn('2/3')).not.toEqual(expect.any(String))
  vi.stubEnv('HOME', '/')
  expect(pathsIn('2/3')).not.toEqual(expect.any(String))
})

it.each<readonly [id: string, fine: object, tooMuch: object, facts: object]>([
  ['output-size', { value: 'x'.repeat(204_798) }, { value: 'x'.repeat(204_799) }, {}],
  ['error-message', failed('x'.repeat(2_002)), failed('x'.repeat(2_003)), {}],
  ['progress-short', { progress: ['x'.repeat(502)] }, { progress: ['x'.repeat(503)] }, {}],
  ['progress-bounded', { progress: Array(1_000).fill('x') }, { progress: Array(1_001).fill('x') }, {}],
  ['update-bounded', { updates: 1_000 }, { updates: 1_001 }, {}],
  ['output-secrets', { value: 'the s3cret' }, { value: 'the hidden-value' }, { hidden: ['hidden-value'] }],
  ['error-stack', failed('Broken at noon'), failed('Broken\n    at run (index.js:3:1)'), {}],
])('%s is checked', (id, fine, tooMuch, facts) => {
  expect(faultOf(id, fine, facts)).not.toEqual(expect.any(String))
  expect(faultOf(id, tooMuch, facts)).toEqual(expect.any(String))
})
