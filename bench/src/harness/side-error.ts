import { inspect } from 'node:util'

/** A failure with the side to blame: a comparison that lost a side means nothing, so the run ends with it. */
export class SideError extends Error {
  readonly side: string

  constructor(side: string, message: string, options?: ErrorOptions) {
    super(`The side "${side}" ${message}`, options)
    this.name = 'SideError'
    this.side = side
  }
}

export function wrongAnswer(side: string, i: number, got: unknown, expected: unknown): SideError {
  const show = (value: unknown) => inspect(value, { breakLength: Infinity, maxStringLength: 120 })
  return new SideError(side, `answered ${show(got)} to call ${i} where ${show(expected)} was expected: its numbers would mean nothing.`)
}

/** Contract: settles within `patienceMs`, with a SideError whenever the work did not succeed or `died` came first. */
export async function attributed<T>(
  side: string,
  doing: string,
  patienceMs: number,
  work: () => Promise<T>,
  died?: Promise<never>,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new SideError(side, `was not done with ${doing} within ${patienceMs} ms. See whether its peer still answers.`))
  }, patienceMs)
  try {
    return await Promise.race([work(), late.promise, ...(died === undefined ? [] : [died])])
  } catch (error) {
    if (error instanceof SideError) throw error
    throw new SideError(side, `failed in ${doing}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
