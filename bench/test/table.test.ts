import { describe, expect, it } from 'vitest'
import { renderTable } from '../src/harness/table.ts'

const columns = [{ title: 'side', align: 'left' }, { title: 'µs', align: 'right' }] as const

describe('renderTable', () => {
  it('aligns each column by its widest cell', () => {
    const rows = [[{ text: 'a' }, { text: '1,000' }], [{ text: 'longer' }, { text: '7' }]]
    expect(renderTable(columns, rows, (_, text) => text)).toEqual(['side        µs', 'a        1,000', 'longer       7'])
  })

  it('gives colours no width', () => {
    const rows = [[{ text: 'a', style: 'green' }, { text: '1' }]] as const
    const lines = renderTable(columns, rows, (style, text) => `<${style}>${text}>`)
    expect(lines).toEqual(['<dim>side>   <dim>µs>', '<green>a   >    1'])
  })
})
