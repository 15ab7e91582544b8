import { describe, expect, it } from 'vitest'
import { pointerStep } from '@bulkhead/kit/json'
import { manifestSchema } from '../src/validation/manifest.ts'
import { whole } from './samples/manifests.ts'

const faults = (manifest: object) => manifestSchema.safeParse(manifest).error?.issues.map(({ path, message }) =>
  `${path.map((key) => pointerStep(String(key))).join('')} ${message}`)

const tool = {
  ...whole.tools[0], requires: { net: { hosts: ['*.weather.example', 'exact.example'] }, shell: [{ cmd: 'git' }] },
}
const withSecrets = (...secrets: object[]) => ({ ...whole, tools: [tool], secrets })

describe('the secrets of a manifest', () => {
  it('may only go where its tools may go', () => {
    const hosts = ['api.weather.example', '*.weather.example', 'exact.example']
    expect(faults(withSecrets({ name: 'A', hosts, commands: ['git'] }))).toBeUndefined()
    const unreachable = [{ name: 'A', hosts: ['weather.example', 'x.example'] }, { name: 'B', commands: ['git', 'sh'] }]
    expect(faults(withSecrets(...unreachable))).toEqual([
      '/secrets/0/hosts/0 no tool of this manifest may reach weather.example',
      '/secrets/0/hosts/1 no tool of this manifest may reach x.example',
      '/secrets/1/commands/1 no tool of this manifest may run sh',
    ])
  })

  it('need a host or a command', () => {
    expect(faults(withSecrets({ name: 'A' }))).toEqual(['/secrets/0 a secret needs hosts or commands'])
  })

  it('have unique names that differ from declared variables', () => {
    const hosts = ['exact.example']
    expect(faults(withSecrets({ name: 'A', hosts }, { name: 'A', hosts }, { name: 'WEATHER_TOKEN', hosts }))).toEqual([
      '/secrets/1/name another secret of this manifest has the name A',
      '/secrets/2/name WEATHER_TOKEN is also in env, which makes its value readable: keep one of the two',
    ])
  })

  it('are compared only if each one is valid', () => {
    expect(faults(withSecrets({ name: 'A', hosts: ['https://x.example'] }, { name: 'B' }))).toHaveLength(1)
  })
})
