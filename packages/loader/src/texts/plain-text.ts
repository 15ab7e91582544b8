import { visibleText } from '@bulkhead/kit/text'

/** A stranger's text as models and people are both shown it: composed, and what cannot be seen written out. */
export const plainText = (text: string): string => visibleText(text.normalize('NFC'), { keepLines: true })

/** For what means something exactly as it is, such as a value or a name, and cannot be written otherwise. */
export const isPlain = (text: string): boolean => visibleText(text, { keepLines: true }) === text
