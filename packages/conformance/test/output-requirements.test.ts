import { afterEach, expect, it, vi } from 'vitest'
import { OUTPUT_REQUIREMENTS } from '../src/output-requirements.ts'

afterEach(() => { vi.unstubAllEnvs() })

/** What is wrong with the paths of this result. */
const pathsIn = (value: string) => OUTPUT_REQUIREMENTS.find(({ id }) => id === 'output-paths')!
  .check({ calls: [{ tool: 'look', args: {}, value }], workspace: '/work' } as never)

it('a home folder is a path of the machine, unless it is the root', () => {
  vi.stubEnv('HOME', '/srv/ada')
  expect(pathsIn('/srv/ada/notes')).toContain('it has /srv/ada')
  expect(pathsIn('2/3')).not.toEqual(expect.any(String))
  vi.stubEnv('HOME', '/')
  expect(pathsIn('2/3')).not.toEqual(expect.any(String))
})
