import { describe, expect, it } from 'vitest'
import {
  BUNDLED_TOOLS, ENV_NAME_PATTERN, EXTENSION_ID_PATTERN, HEADER_NAME_PATTERN, LAYERS, layerRank, isLockedTool,
  LOCKED_TOOLS,
  TOOL_NAME_PATTERN,
} from '../src/model/names.ts'
import { LOCKED_MODES } from '../src/model/tool-names.ts'

describe('names', () => {
  it.each<[string, RegExp, readonly string[], readonly string[]]>([
    ['tools', TOOL_NAME_PATTERN, ['a', 'Read', 'web_fetch', 'a-b', 'A'.repeat(64)],
      ['', '1a', '_a', 'a.b', 'a b', 'a\n', 'é', 'A'.repeat(65), 'a__b/c', 'mcp:a.b']],
    ['extensions', EXTENSION_ID_PATTERN, ['a', 'weather-2', 'a'.repeat(64)],
      ['', 'A', 'a_b', '-a', '../a', 'a\n', 'a'.repeat(65)]],
    [
      'headers', HEADER_NAME_PATTERN, ['a', 'X-Api-Key', "!#$%&'*+.^_`|~", '1', 'x'.repeat(128)],
      ['', 'a b', 'a:', 'a\n', 'ä', '(a)', 'x'.repeat(129)],
    ],
    [
      'variables', ENV_NAME_PATTERN, ['_', 'PATH', 'a1', 'A'.repeat(128)],
      ['', '1A', 'A-B', 'A=B', 'A\n', 'A'.repeat(129)],
    ],
  ])('of %s match their pattern', (_, pattern, good, bad) => {
    expect(good.filter((name) => !pattern.test(name))).toEqual([])
    expect(bad.filter((name) => pattern.test(name))).toEqual([])
  })

  it('of locked tools are pinned', () => {
    expect(BUNDLED_TOOLS.slice(0, LOCKED_TOOLS.length)).toEqual(LOCKED_TOOLS)
    expect(BUNDLED_TOOLS.slice(LOCKED_TOOLS.length).some(isLockedTool)).toBe(false)
    expect(new Set(BUNDLED_TOOLS).size).toBe(BUNDLED_TOOLS.length)
    expect(Object.keys(LOCKED_MODES)).toEqual(LOCKED_TOOLS)
    expect(LOCKED_TOOLS.every((name) => isLockedTool(name) && TOOL_NAME_PATTERN.test(name))).toBe(true)
    expect(['Read', 'constructor', ''].some(isLockedTool)).toBe(false)
  })

  it('of layers are ranked, later over earlier', () => {
    expect(LAYERS).toEqual(['bundled', 'global', 'project'])
    expect(LAYERS.map(layerRank)).toEqual([0, 1, 2])
  })
})
