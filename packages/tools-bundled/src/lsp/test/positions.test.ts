import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyCodePoint } from '../../../../kit/test/samples/text.ts'
import { columnAt, linesOf, positionAt } from '../positions.ts'

it('counts characters where the protocol counts UTF-16 code units', () => {
  const lines = linesOf("a = '😀'; b\r\nc\rd\n")
  expect(lines).toEqual(["a = '😀'; b", 'c', 'd', ''])
  expect(positionAt(lines, 1, 10)).toEqual({ line: 0, character: 10 })
  expect(positionAt(lines, 1, 9)).toEqual({ line: 0, character: 9 })
  expect(positionAt(lines, 1, 7)).toEqual({ line: 0, character: 7 })
  expect(positionAt(lines, 1, 6)).toEqual({ line: 0, character: 5 })
  expect(columnAt(lines[0]!, 10)).toBe(10)
  expect(positionAt(lines, 4, 1)).toEqual({ line: 3, character: 0 })
  expect(positionAt(lines, 5, 1)).toBeUndefined()
  expect(positionAt(lines, 2, 3)).toBeUndefined()
})

it('converts every place there and back', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCodePoint }).filter((text) => !/[\r\n]/.test(text)), fc.nat(20),
      (text, at) => {
        const column = Math.min(at, [...text].length) + 1
        const { character } = positionAt([text], 1, column)!
        expect(columnAt(text, character)).toBe(column)
        expect([...text].slice(0, column - 1).join('')).toBe(text.slice(0, character))
      },
    ),
  )
})
