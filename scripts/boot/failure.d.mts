/** Something a person has to act on. Contract: the message says what happened, the cure says what to do. */
export declare class SetupFailure extends Error {
    cure: string;
    /**
     * @param {string} message
     * @param {string} cure
     */
    constructor(message: string, cure: string);
    /** @returns {string} */
    describe(): string;
}
/** The setup was asked to stop; what it was doing has been undone or will be done again by the next run. */
export declare class Interrupted extends Error {
    signal: NodeJS.Signals;
    /** @param {NodeJS.Signals} signal */
    constructor(signal: NodeJS.Signals);
}
/**
 * Reads a package manager's own output for the cause of its failure.
 * @param {string} what did not work, as the beginning of a sentence
 * @param {string} output everything the package manager printed
 * @param {string} otherwise the cure when the output names no known cause
 * @returns {SetupFailure}
 */
export declare function failureOf(what: string, output: string, otherwise: string): SetupFailure;
