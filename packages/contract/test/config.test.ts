import { describe, expect, it } from 'vitest'
import { CONFIG_FILE, SECURITY_MODES } from '../src/model/names.ts'
import { configFileSchema } from '../src/validation/config.ts'
import { CALL_LIMITS, DEFAULT_LIMITS, LONGEST_TIMER_MS } from '../src/model/limits.ts'
import { invalidConfigs, validConfigs, wholeConfig } from './samples/configs.ts'

const pathsOf = (value: unknown) => configFileSchema.safeParse(value).error?.issues.map((issue) => issue.path.join('/'))

describe('a configuration file', () => {
  it('is in config.json and has these modes', () => {
    expect(CONFIG_FILE).toBe('config.json')
    expect(SECURITY_MODES).toEqual(['ask', 'allowlist', 'learn', 'yolo'])
  })

  it.each(validConfigs)('is accepted: %s', (_, value) => {
    expect(pathsOf(value)).toBeUndefined()
  })

  it.each(invalidConfigs)('is rejected with a path: %s', (_, value, path) => {
    expect(pathsOf(value)).toEqual([path])
  })

  it('is unchanged except for the default pattern of a rule', () => {
    expect(configFileSchema.parse(wholeConfig))
      .toEqual({ ...wholeConfig, rules: [{ permission: 'bash', pattern: '*', action: 'ask' }] })
  })

  it('can set every limit and nothing else', () => {
    expect(pathsOf({ limits: DEFAULT_LIMITS })).toBeUndefined()
    expect(pathsOf({ limits: { ...DEFAULT_LIMITS, fork: 1 } })).toEqual(['limits'])
    expect(pathsOf({ limits: { graceMs: LONGEST_TIMER_MS } })).toBeUndefined()
    expect(pathsOf({ limits: { graceMs: LONGEST_TIMER_MS + 1 }, search: { timeoutMs: CALL_LIMITS.maxTimeoutMs + 1 } }))
      .toEqual(['search/timeoutMs', 'limits/graceMs'])
    expect(Object.keys(configFileSchema.shape.limits.unwrap().shape)).toEqual(Object.keys(DEFAULT_LIMITS))
  })
})
