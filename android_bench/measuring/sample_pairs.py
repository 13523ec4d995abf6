"""Text pairs to measure with: short and long questions, punctuation, accents, an emoji; written for this."""

PAIRS: tuple[tuple[str, str], ...] = (
    ("How do I reset my password?", "I forgot my password, how can I get a new one?"),
    ("What is the capital of Australia?", "Is Canberra or Sydney the capital city of Australia?"),
    ("Where can I see the trains that leave tonight?", "Where do I park near the station?"),
    ("Can I return shoes I have already worn outside?", "What is your return policy for worn shoes?"),
    ("Why is my phone hot?", "Why does my phone get so warm while it charges overnight on the wireless pad?"),
    ("Best way to learn the piano at 40", "Is forty too old to start playing the piano?"),
    ("How many litres are in a US gallon?", "How many gallons are in a barrel of oil?"),
    ("What's the difference between a crème brûlée and a flan?", "How do I make crème brûlée at home?"),
    ("Do cats dream?", "Do dogs dream?"),
    (
        (
            "My order #48213 was due on Tuesday, the tracking page still says 'label created', and nobody"
            " answers the phone: can you tell me whether it has been shipped at all?"
        ),
        "Where is my parcel?",
    ),
    ("how to cancel subscription", "How do I cancel my subscription before the free trial ends?"),
    ("Is it safe to eat rice that was left out overnight?", "How long does cooked rice keep in the fridge?"),
    ("What does 'idempotent' mean for an HTTP method?", "Which HTTP methods are idempotent?"),
    ("Can two people share one bus ticket?", "Are bus tickets transferable? 🚌"),
    ("Which vaccines do I need for a trip to Peru?", "Do I need a visa to travel to Peru?"),
    (
        (
            "I have lived in the same flat for eleven years and my landlord now wants to raise the rent"
            " by 18% from next month; is he allowed to do so without any written notice?"
        ),
        (
            "How much notice does a landlord have to give in writing before the rent of a long-standing"
            " tenant goes up?"
        ),
    ),
    ("Who wrote 'One Hundred Years of Solitude'?", "Who is the author of One Hundred Years of Solitude?"),
    ("How do I take a screenshot on Android?", "How can I record the screen of my Android phone?"),
    ("Why do leaves change colour in autumn?", "What makes leaves turn red and yellow in the fall?"),
    ("Can I pay in instalments?", "Which cards do you accept?"),
    ("How far is the moon?", "What is the average distance between the Earth and the Moon in kilometres?"),
    ("Does drinking coffee stunt your growth?", "Is coffee bad for teenagers?"),
    ("What should I do if I lose my passport abroad?", "Who do I call when my passport is stolen?"),
    ("How do I convert a PDF to Word for free?", "How can I turn a Word file into a PDF?"),
)
