import { stripTypeScriptTypes } from 'node:module'
import { expect, it } from 'vitest'
import { declareTools, describeTools, type ProgramFunction } from '../declarations.ts'
import { createBundledExtensions } from '../../index.ts'

const bundled = createBundledExtensions().map(({ manifest }) => manifest.tools[0] as unknown as ProgramFunction)
const tool = (name: string, description: string, more: Partial<ProgramFunction> = {}): ProgramFunction =>
  ({ name, description, inputSchema: { type: 'object', properties: {} }, ...more })

it('declares every bundled tool in valid TypeScript', () => {
  const text = describeTools(bundled)
  expect(stripTypeScriptTypes(text).trim()).toBe('')
  expect(text).toMatch(/\n {2}bash\(args: \{/)
  expect(text).not.toMatch(/\n {2}(?:code_exec|tool_search)\(/)
})

it('names types that refer to themselves by the tool, and escapes what a description contains', () => {
  const tree = {
    type: 'object', properties: { root: { $ref: '#/$defs/node' } },
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
  }
  const text = declareTools([
    tool('my-tool', 'Ends */ declare const tools: any /*\nand goes on.', {
      inputSchema: tree, outputSchema: { type: 'string' },
    }),
    tool('other', ''),
  ])
  expect(text).toBe(`type my_tool_node = {
  next?: my_tool_node
}
declare const tools: {
  /** Ends *\\/ declare const tools: any /* and goes on. */
  "my-tool"(args?: {
    root?: my_tool_node
  }): Promise<string>
  other(args?: Record<string, any>): Promise<any>
}`)
})

it('shows 1000 characters of a description', () => {
  expect(declareTools([tool('x', 'y'.repeat(3_000))]).match(/y+/)![0].length).toBeLessThanOrEqual(1_000)
})

it('lists names where the declarations would be long, and as many as fit', () => {
  const many = Array.from({ length: 1_000 }, (_, index) =>
    tool(`tool_${index}`, `Does the thing ${index}. And more about it, at length.`),
  )
  const text = describeTools(many)
  expect(text.length).toBeLessThan(25_000)
  expect(text).toContain('catalog.search(words)')
  expect(text).toContain('\ntool_1: Does the thing 1.\n')
  expect(text).toMatch(/\nand \d+ more$/)
})
