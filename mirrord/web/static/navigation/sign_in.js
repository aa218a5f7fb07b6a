/** Signs in with the link of the page at once; without scripts, as in previews of links, its button does. */
document.getElementById("sign-in").requestSubmit();
