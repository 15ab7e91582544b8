import { describe, expect, it } from 'vitest'
import { rank, wordsOf, type SearchedTool } from '../../model/find-tools.ts'
import { ToolShelf } from '../tool-search.ts'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

const tool = (name: string, description: string, properties = {}): SearchedTool => ({
  name, description, inputSchema: { type: 'object', properties },
})
const TOOLS = [
  tool('github_create_issue', 'Opens an issue in a repository.', {
    repo: { type: 'string' }, labels: { type: 'array', items: { properties: { colour: {} } } },
  }),
  tool('github_list_issues', 'Lists the issues of a repository.'),
  tool('browser_screenshot', 'Takes a picture of the page.'),
  tool('calendarCreateEvent', 'Puts an appointment into the calendar.'),
  tool('read', 'Reads an issue of a file.'),
  tool('long', `${'word '.repeat(100)}needle`),
]

describe('tool_search', () => {
  const reported: [string, readonly string[]][] = []
  let tools = TOOLS
  const search = toolSession('tool_search', { session: sessionMemory() }, {
    bundled: { catalog: { tools: () => tools, found: (session, names) => void reported.push([session, names]) } },
  })
  const ids = async (query: string, max_results = 10) =>
    ((await search.call({ query, max_results }))['matches'] as { id: string }[]).map(({ id }) => id)

  it('finds tools by name, description and parameters, and reports them to the catalog', async () => {
    expect(await search.call({ query: 'create an issue', max_results: 1 }))
      .toEqual({ matches: [{ id: 'github_create_issue', description: 'Opens an issue in a repository.' }] })
    expect(reported.at(-1)).toEqual(['session-1', ['github_create_issue']])
    expect(await ids('issues')).toEqual(['github_list_issues', 'github_create_issue'])
    expect(await ids('screenshots')).toEqual(['browser_screenshot'])
    expect(await ids('Create EVENT')).toEqual(['calendarCreateEvent', 'github_create_issue'])
    expect(await ids('colour')).toEqual(['github_create_issue'])
    expect(await ids('zebra')).toEqual([])
    expect(await ids('(((((.*')).toEqual([])
  })

  it('leaves out locked tools, shortens descriptions and returns at most ten tools', async () => {
    expect(await ids('read')).toEqual([])
    const { matches } = await search.call({ query: 'needle' })
    expect((matches as { description: string }[])[0]!.description).toHaveLength(200)
    tools = Array.from({ length: 30 }, (_, i) => tool(`x_${i}`, 'same'))
    expect(await ids('same')).toHaveLength(10)
  })

  it('uses a fixed approval key', async () => {
    expect(await search.key({ query: 'x' })).toBe('tool-registry')
  })
})

describe('ranking', () => {
  it('weights rare words more than common ones', () => {
    const documents = ['a common', 'a common rare', 'a common', 'a'].map((text, subject) => ({
      subject, words: wordsOf(text),
    }))
    expect(rank('common rare', documents)[0]).toBe(1)
    expect(rank('rare', documents)).toEqual([1])
    expect(rank('', documents)).toEqual([])
    expect(rank('x', [])).toEqual([])
  })
})

describe('ToolShelf', () => {
  it('offers all tools up to the threshold, and then only locked and found tools', () => {
    const shelf = new ToolShelf(2)
    const few = [{ name: 'read' }, { name: 'a' }, { name: 'b' }]
    expect(shelf.offered('s', few)).toBe(few)
    const many = [...few, { name: 'c' }]
    expect(shelf.offered('s', many)).toEqual([{ name: 'read' }])
    shelf.found('s', ['b', '__proto__'])
    expect(shelf.offered('s', many)).toEqual([{ name: 'read' }, { name: 'b' }])
    expect(shelf.offered('other', many)).toEqual([{ name: 'read' }])
    shelf.forget('s')
    expect(shelf.offered('s', many)).toEqual([{ name: 'read' }])
  })
})
