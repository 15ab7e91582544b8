/** Attacks of this corpus that are not withstood yet, each with what is missing. One that is withstood must leave the list. */
export const KNOWN_HOLES: ReadonlyMap<number, string> = new Map([
  [244, 'nothing remembers which version was there: there is no lockfile yet'],
])

/** Numbers of the corpus that nothing here can be attacked by yet. */
export const NOT_THERE_YET: ReadonlyMap<number, string> = new Map([
  [256, 'archives are not unpacked: nothing is installed yet'],
])
