const LABEL_CHARS = 128

/** What a stranger says of itself, where it says anything. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.toWellFormed() : undefined

export const cut = (text: string, most: number): string => text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

export const labelOf = (text: string | undefined): { readonly label?: string } =>
  text === undefined ? {} : { label: cut(text, LABEL_CHARS) }
