import { expect, it } from 'vitest'
import * as openai from '../src/openai/index.ts'

it('exports exactly this', () => {
  expect(Object.keys(openai).toSorted()).toEqual(['fromToolCall', 'toFunctionTool', 'toFunctionTools', 'toToolMessage'])
})
