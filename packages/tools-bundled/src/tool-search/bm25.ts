/** What one document is found by: words, some of them worth more than once. */
export interface Document<Subject> {
  readonly subject: Subject
  readonly words: readonly string[]
}

const K1 = 1.2
const B = 0.75

/** Documents that share a word with the query, the best first; equally good ones in their order. */
export function rank<Subject>(query: string, documents: readonly Document<Subject>[]): readonly Subject[] {
  const wanted = new Set(wordsOf(query))
  const average = documents.reduce((sum, { words }) => sum + words.length, 0) / Math.max(documents.length, 1)
  const counted = documents.map(({ subject, words }) => ({ subject, length: words.length, counts: countOf(words) }))
  const rarity = new Map(Array.from(wanted, (word) => {
    const having = counted.filter(({ counts }) => counts.has(word)).length
    return [word, Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))]
  }))
  return counted.map(({ subject, length, counts }) => ({
    subject,
    score: Array.from(wanted).reduce((sum, word) => {
      const count = counts.get(word) ?? 0
      return sum + rarity.get(word)! * count * (K1 + 1) / (count + K1 * (1 - B + B * length / average))
    }, 0),
  })).filter(({ score }) => score > 0).toSorted((one, other) => other.score - one.score).map(({ subject }) => subject)
}

/** Lower-case words of a text or a name: `searchIssues` and `search_issues` are the same two, and a plural is its singular. */
export function wordsOf(text: string): readonly string[] {
  const words = text.replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2').toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.map((word) => word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word)
}

function countOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
